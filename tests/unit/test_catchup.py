"""Journals of any length travel in messages of bounded size, and arrive whole or not at all."""

import pytest

from bridge.catchup import HEADER_BYTES, Bounds, Prefix, chunk, holds
from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.proposal import Lost, PrefixRead, ReadPrefix
from bridge.proposer import Proposer, Stage
from bridge.quorum import VoterView
from tests.unit.quorum_world import TASK, World

ABC = ("a", "b", "c")
ONE = Fence(1, "s1")
SIZES = [10, 10, 5_000, 10, 10]
LOG = chain(genesis(TASK), ONE, 1, [Draft(Kind.STEP, b'"' + b"x" * (size - 2) + b'"') for size in SIZES])


@pytest.mark.parametrize(
    ("after", "bounds", "sizes"),
    [
        (0, Bounds(), SIZES),
        (0, Bounds(entries_max=2), [10, 10]),
        (4, Bounds(entries_max=2), [10]),
        (5, Bounds(), []),
        (0, Bounds(bytes_max=2 * (HEADER_BYTES + 10)), [10, 10]),
        (0, Bounds(bytes_max=2 * (HEADER_BYTES + 10) - 1), [10]),
        (2, Bounds(bytes_max=100), [5_000]),  # a step and its receipts are never split: it travels alone
        (1, Bounds(bytes_max=4_000), [10]),
    ],
)
def test_a_chunk_is_whole_entries_within_its_bounds(after: int, bounds: Bounds, sizes: list[int]) -> None:
    assert [len(entry.body or b"") for entry in chunk(LOG, after, bounds)] == sizes


def test_a_record_of_a_replacement_never_travels_without_it() -> None:
    kinds = [Kind.EVENT, Kind.REWOUND, Kind.REWOUND, Kind.EVENT, Kind.EVENT, Kind.REWOUND]
    log = chain(genesis(TASK), ONE, 1, [Draft(kind, b"{}") for kind in kinds])
    sizes, after = [], 0
    while after < len(log):
        sizes.append(len(chunk(log, after, Bounds(entries_max=1))))
        after += sizes[-1]
    assert sizes == [1, 3, 1, 1]
    assert len(chunk(log, 0, Bounds(bytes_max=2 * (HEADER_BYTES + 2)))) == 4


def test_an_entry_without_its_body_counts_as_a_header() -> None:
    bare = [entry._replace(body=None) for entry in LOG]
    assert len(chunk(bare, 0, Bounds(bytes_max=3 * HEADER_BYTES))) == 3


def test_a_voter_serves_only_the_prefix_that_it_still_has() -> None:
    tip, view = tip_of(TASK, LOG[:3]), VoterView(ONE, tip_of(TASK, LOG[:4]))
    stored = ["", "", "", LOG[2].hash].__getitem__
    assert holds(view, tip, stored)
    assert holds(view, view.tip, lambda _: None)
    assert not holds(view, tip._replace(hash="another"), stored)
    assert not holds(view, tip_of(TASK, LOG), stored)
    assert not holds(view._replace(purged=True), tip, stored)


def read(prefix: Prefix, entries: tuple[Entry, ...] | None) -> None:
    asked = prefix.ask()
    prefix.take(PrefixRead(asked.voter, asked.tip, entries, asked.after))


def test_a_prefix_is_read_chunk_by_chunk_and_each_chunk_once() -> None:
    tip = tip_of(TASK, LOG)
    prefix = Prefix(TASK, tip, ["a", "b"])
    read(prefix, tuple(LOG[:2]))
    assert (prefix.complete, prefix.ask()) == (False, ReadPrefix("a", tip, 2))
    assert not prefix.awaits(PrefixRead("a", tip, tuple(LOG[:2]), 0))
    assert not prefix.awaits(PrefixRead("b", tip, tuple(LOG[2:]), 2))
    read(prefix, tuple(LOG[2:]))
    assert (prefix.complete, prefix.gone, prefix.entries) == (True, False, LOG)


def test_a_voter_that_cut_its_journal_between_two_chunks_no_longer_has_the_prefix() -> None:
    cut = chain(tip_of(TASK, LOG[:1]), Fence(2, "s2"), 1, [Draft(Kind.EVENT, b"{}")] * 4)
    prefix = Prefix(TASK, tip_of(TASK, LOG), ["a", "b"])
    read(prefix, tuple(LOG[:2]))
    read(prefix, tuple(cut[1:]))
    assert (prefix.entries, prefix.ask().voter, prefix.ask().after) == ([], "b", 0)
    read(prefix, (LOG[0], *cut))  # ends at that position, with another entry
    assert prefix.gone


SMALL = Bounds(entries_max=2)


def long_journal() -> World:
    """A journal of eleven entries that a voter has missed but for the first."""
    world = World(ABC, SMALL)
    owner = world.stand(1)
    world.run(away="c")
    for _ in range(4):
        world.offer(owner, Kind.EVENT, Kind.STEP)
    world.run(away="c")
    assert owner.committed == 11
    world.now_ms += 1_000
    return world


def sizes(world: World) -> list[int]:
    return [len(sent.entries) for sent in world.appends]


def test_a_voter_that_was_away_is_brought_up_in_chunks() -> None:
    world = long_journal()
    owner = world.candidates[0]
    world.elapse(owner)
    world.run()
    assert [disk.view.committed for disk in world.disks.values()] == [11, 11, 11]
    assert max(sizes(world)) == 2
    world.network.clear()
    world.elapse(owner)
    assert world.network == []  # everybody has heard everything


def test_a_new_owner_reads_and_ships_in_chunks() -> None:
    world = long_journal()
    late = world.stand(2)
    world.run(away="a")
    assert late.stage is Stage.OWNING
    assert late.log[:11] == world.candidates[0].log
    assert max(sizes(world)) == 2
    assert world.disks["c"].view.committed == len(late.log)


def test_an_owner_that_goes_on_does_not_flood_a_voter_that_is_behind() -> None:
    world = long_journal()
    owner = world.candidates[0]
    world.elapse(owner)
    before = len(world.network)
    world.offer(owner, Kind.EVENT)
    to_c = [message for message in world.network[before:] if message.to == "c"]
    assert to_c == []
    world.run()
    assert world.disks["c"].view.tip == tip_of(TASK, owner.log)


def test_a_prefix_that_is_gone_half_way_costs_the_fence() -> None:
    world = long_journal()
    late = world.stand(2)
    while not late._prefix.entries:
        message = world.network.pop(0)
        if message.to != "a":
            message.arrive()
    world.wipe("b", "b")  # it cannot keep its id in earnest; here it stands for a journal that was cut
    world.run(away="a")
    assert world.lost == [Lost("prefix_gone", Fence(2, "s1"))]


def test_a_refusal_with_an_own_entry_at_its_tip_is_continued_from_there() -> None:
    world = World(ABC, SMALL)
    owner: Proposer = world.stand(1)
    world.run()
    world.offer(owner, Kind.EVENT)
    world.network = [message for message in world.network if message.to != "c"]
    world.offer(owner, Kind.EVENT)
    world.run()
    after = [(sent.after_seq, len(sent.entries)) for sent in world.appends if sent.after_seq >= 3]
    assert (3, 2) in after
    assert world.disks["c"].view.tip == tip_of(TASK, owner.log)
