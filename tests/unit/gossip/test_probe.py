"""A probe asks directly, then through others, then gives up; answers count for the ping that they answer."""

import pytest

from bridge.gossip.probe import RELAYS_MAX, STEPS, Prober, Relay, Relays, Sign, Step


def begun() -> Prober:
    prober = Prober()
    prober.begin("t", 5, late_ms=500, over_ms=1_000)
    return prober


def asked(*scouts: str) -> Prober:
    prober = begun()
    assert prober.elapsed(500)
    prober.ask(scouts)
    return prober


def test_a_direct_answer_ends_it() -> None:
    prober = begun()
    assert (prober.running, prober.due_ms, prober.step) == (True, 500, Step.DIRECT)
    assert not prober.acked("t", 4)  # of an earlier ping
    assert not prober.acked("x", 5)
    assert prober.acked("t", 5)
    assert (prober.running, prober.step) == (False, Step.ANSWERED)
    assert not prober.acked("t", 5)
    assert not prober.elapsed(5_000)


def test_without_an_answer_others_are_asked_and_theirs_counts_too() -> None:
    prober = begun()
    assert not prober.elapsed(499)
    prober = asked("h", "i")
    assert (prober.step, prober.due_ms, prober.left_ms(600)) == (Step.INDIRECT, 1_000, 400)
    assert not prober.elapsed(999)
    assert not prober.nacked("h", 5)
    assert not prober.nacked("h", 5)
    assert prober.acked("i", 5)
    assert prober.step is Step.ANSWERED


def test_a_late_direct_answer_counts() -> None:
    assert asked("h").acked("t", 5)


def test_no_answer_on_any_path_is_silence() -> None:
    prober = asked("h", "i")
    assert not prober.nacked("x", 5)
    assert not prober.nacked("h", 4)
    assert not prober.nacked("h", 5)
    assert prober.elapsed(1_000)
    # One scout said nothing at all: that may be this member's own fault.
    assert (prober.step, prober.unheard, prober.left_ms(2_000)) == (Step.SILENT, 1, 0)


def test_when_every_scout_found_the_same_nobody_waits_longer() -> None:
    prober = asked("h", "i")
    assert not prober.nacked("h", 5)
    assert prober.nacked("i", 5)
    assert (prober.step, prober.unheard) == (Step.SILENT, 0)


def test_who_is_not_at_its_address_is_looked_for_by_others_at_once() -> None:
    prober = begun()
    assert not prober.refused(4)
    assert prober.refused(5)
    assert prober.step is Step.INDIRECT
    assert not prober.refused(5)
    assert prober.unheard == 1


def test_a_late_beat_leaves_the_scouts_the_time_that_they_have() -> None:
    prober = begun()
    assert prober.elapsed(990)
    assert prober.due_ms == 1_490


def test_who_was_given_up_is_not_judged() -> None:
    prober = begun()
    prober.give_up()
    assert not prober.running
    assert not prober.elapsed(9_000)
    assert not Prober().refused(0)


def test_the_table_leads_out_of_every_step() -> None:
    assert [*STEPS] == [*Step]
    assert {after for row in STEPS.values() for after in row.values()} == {*Step} - {Step.IDLE}
    assert {sign for row in STEPS.values() for sign in row} == {*Sign}


@pytest.mark.parametrize("sender", ["t", "x"])
def test_what_is_tried_for_others_is_answered_once(sender: str) -> None:
    relays = Relays()
    relay = Relay("a", 9, "t", due_ms=400)
    assert relays.due_ms() is None
    assert relays.begin(1, relay)
    assert relays.due_ms() == 400
    assert relays.acked(sender, 2) is None
    assert relays.acked(sender, 1) == (relay if sender == "t" else None)
    assert relays.overdue(399) == []
    assert relays.overdue(400) == ([] if sender == "t" else [relay])
    assert relays.refused(1) is None


def test_relays_are_bounded_and_forgotten() -> None:
    relays = Relays()
    for number in range(RELAYS_MAX):
        assert relays.begin(number, Relay("a", number, "t", 1))
    assert not relays.begin(RELAYS_MAX, Relay("a", 0, "t", 1))
    assert relays.refused(3) == Relay("a", 3, "t", 1)
    relays.clear()
    assert relays.due_ms() is None
