"""One drawn number gives the same choices wherever it is unfolded, and every choice has its chance."""

from collections import Counter

from bridge.gossip.draws import Draws, Pool


def pool(count: int) -> Pool:
    names = Pool()
    for number in range(count):
        names.add(f"n{number}")
    return names


def test_the_same_number_chooses_the_same() -> None:
    assert [Draws(7).below(100) for _ in range(2)] == [Draws(7).below(100)] * 2
    assert Draws(7).shuffled("abcdef") == Draws(7).shuffled("abcdef") != Draws(8).shuffled("abcdef")
    assert Draws(1 << 70).below(10) == Draws(0).below(10)


def test_every_choice_has_its_chance() -> None:
    draws = Draws(1)
    counts = Counter(draws.below(10) for _ in range(10_000))
    assert all(900 < counts[number] < 1_100 for number in range(10))
    first = Counter(draws.shuffled("abc")[0] for _ in range(3_000))
    assert all(900 < first[name] < 1_100 for name in "abc")
    chosen = Counter(name for _ in range(3_000) for name in pool(30).some(3, draws, ("n0",)))
    assert "n0" not in chosen
    assert all(240 < chosen[f"n{number}"] < 380 for number in range(1, 30))


def test_nobody_is_chosen_twice_nor_who_is_left_out() -> None:
    draws = Draws(2)
    for count in range(12):
        for _ in range(20):
            some = pool(count).some(3, draws, ("n1", "n2"))
            assert len({*some} - {"n1", "n2"}) == len(some) == min(3, max(0, count - (count > 1) - (count > 2)))


def test_names_come_and_go() -> None:
    names = pool(4)
    names.add("n2")
    names.discard("n0")
    names.discard("never there")
    assert sorted(names.names()) == ["n1", "n2", "n3"]
    assert ("n0" in names, "n3" in names, len(names)) == (False, True, 3)
    names.discard(names.names()[-1])
    assert len(names) == 2
