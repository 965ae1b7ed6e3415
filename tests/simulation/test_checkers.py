"""What a checker must not take for a broken promise, and what it must."""

from __future__ import annotations

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis, tip_of
from bridge.proposal import SendAppend
from bridge.quorum import Append, VoterView
from bridge.voterid import VoterFile
from tests.simulation.checkers.nothing_without_a_majority import NothingWithoutAMajority
from tests.simulation.checkers.one_session_per_fence import OneSessionPerFence
from tests.simulation.checkers.promise import Broken
from tests.simulation.checkers.purged_stays_purged import PurgedStaysPurged
from tests.simulation.database import Database
from tests.simulation.disk import Stored
from tests.simulation.options import Options
from tests.simulation.world import World

VOTERS = b'{"voters":["db"]}'


def journal(n: int) -> list[Entry]:
    drafts = [Draft(Kind.DISPATCHED, VOTERS), Draft(Kind.CLAIMED, b"{}")]
    return chain(genesis("t"), Fence(n, f"a.{n}"), n, drafts)


def offer(world: World, n: int) -> Database:
    """Somebody appends a journal of its own at the only voter."""
    database = world.database
    assert database is not None
    assert database.voter is not None
    append = Append("t", Fence(n, f"a.{n}"), 0, genesis("t").hash, journal(n), 0)
    renewal = world.sidecars[0].session.renewal
    database.voter.ask(renewal, "t", SendAppend("db", append), lambda _answer, _stands: None)
    return database


def one_voter() -> World:
    world = World(0, Options(voters=1))
    for host in world.hosts:
        host.begin()
    return world


def sync(world: World) -> None:
    while world.kernel.now < 2_000:
        world.kernel.step()


def test_what_an_only_voter_wrote_and_lost_was_never_committed() -> None:
    world = one_voter()
    database = offer(world, 1)
    assert database.voter is not None
    database.voter.disk.dead = True  # so the crash surely takes it
    database.end()
    database.voter.disk.dead = False
    database.begin()
    assert database.voter.durable("t").entries == ()
    offer(world, 2)
    sync(world)
    assert database.voter.durable("t").entries == tuple(journal(2))
    assert database.voter.durable("t").view.committed == 2


def test_what_an_only_voter_synced_stays() -> None:
    world = one_voter()
    database = offer(world, 1)
    sync(world)
    assert database.voter is not None
    stored = database.voter.durable("t")
    other = stored._replace(entries=tuple(journal(2)))
    database.voter.disk.file = VoterFile("another", "db")
    with pytest.raises(Broken, match=r"another entry . committed"):
        world.watch.synced(database.voter, "t", other)


def test_a_fence_that_an_only_voter_lost_with_its_entries_is_free_again() -> None:
    world = one_voter()
    database = offer(world, 1)
    assert database.voter is not None
    database.voter.disk.dead = True
    database.end()
    database.voter.disk.dead = False
    database.begin()
    others = chain(genesis("t"), Fence(1, "b.1"), 1, [Draft(Kind.DISPATCHED, VOTERS), Draft(Kind.CLAIMED, b"{}")])
    append = Append("t", Fence(1, "b.1"), 0, genesis("t").hash, others, 0)
    database.voter.ask(world.sidecars[1].session.renewal, "t", SendAppend("db", append), lambda *_: None)
    sync(world)
    assert database.voter.durable("t").entries == tuple(others)
    stored = database.voter.durable("t")
    database.voter.disk.file = VoterFile("another", "db")
    mine = Stored(stored.view, tuple(journal(1)))
    with pytest.raises(Broken, match="both write under fence 1"):
        OneSessionPerFence.synced(a_fence_checker(world), database.voter, "t", mine)


def a_fence_checker(world: World) -> OneSessionPerFence:
    """The world's own, which is to look at everything once more."""
    checker = next(each for each in world.watch.checkers if isinstance(each, OneSessionPerFence))
    checker.looked = {}
    return checker


def ended(n: int = 1) -> tuple[Entry, ...]:
    kinds = (Kind.DISPATCHED, Kind.CLAIMED, Kind.FAILED)
    return tuple(chain(genesis("t"), Fence(n, f"a.{n}"), n, [Draft(kind, b"{}") for kind in kinds]))


def kept(entries: tuple[Entry, ...], committed: int) -> Stored:
    """A voter's copy."""
    return Stored(VoterView(Fence(1, "a.1"), tip_of("t", entries), committed), entries)


TOMBSTONE = Stored(VoterView(Fence(1, "a.1"), tip_of("t", ended()), 3, purged=True))


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (kept(ended(), 2), TOMBSTONE, "without a committed end"),
        (kept(ended()[:2], 2), TOMBSTONE, "without a committed end"),
        (kept(ended(), 3), TOMBSTONE._replace(entries=ended()), "keeps entries"),
        (TOMBSTONE, kept(ended(), 3), "writes again"),
        (TOMBSTONE, TOMBSTONE, "writes again"),
    ],
)
def test_a_voter_purges_what_has_a_committed_end_once_and_for_ever(
    before: Stored, after: Stored, why: str
) -> None:
    world = one_voter()
    assert world.database is not None
    assert world.database.voter is not None
    with pytest.raises(Broken, match=why):
        PurgedStaysPurged(world).wrote(world.database.voter, "t", before, after)


def test_after_a_purge_only_its_own_entries_and_seals_are_shown() -> None:
    world = one_voter()
    assert world.database is not None
    voter, car = world.database.voter, world.sidecars[0]
    assert voter is not None
    checker = PurgedStaysPurged(world)
    with pytest.raises(Broken, match="nobody has purged it"):
        checker.not_found(car, "t")
    checker.wrote(voter, "t", kept(ended(), 3), TOMBSTONE)
    with pytest.raises(Broken, match="nobody has purged it"):
        checker.not_found(car, "t")
    checker.synced(voter, "t", TOMBSTONE)
    checker.not_found(car, "t")
    seal = chain(tip_of("t", ended()), Fence(2, "b.1"), 1, [Draft(Kind.CLAIMED, b"{}")])
    for entry in (*ended(), *seal):
        checker.shown(car, "t", entry)
    for entry in (ended(2)[0], *chain(tip_of("t", ended()), Fence(2, "b.1"), 1, [Draft(Kind.EVENT, b"{}")])):
        with pytest.raises(Broken, match="and it is purged"):
            checker.shown(car, "t", entry)


def test_without_a_majority_only_what_the_dead_had_is_shown_and_no_read_is_fresh_for_long() -> None:
    world = World(0, Options(outage=True))
    for host in world.hosts:
        host.begin()
    checker, car = NothingWithoutAMajority(world), world.sidecars[0]
    had, newer = ended()[:2], ended()[2]
    checker.shown(car, "t", newer)  # there is a majority
    world.kernel.now = world.outage.since_us = 1_000_000
    world.outage.kept = {"t": frozenset(entry.hash for entry in had)}
    checker.shown(car, "t", had[1])
    with pytest.raises(Broken, match="never had it"):
        checker.shown(car, "t", newer)
    checker.read(car, "t", 2, True)
    world.kernel.now += 1_100_000
    checker.read(car, "t", 2, False)
    with pytest.raises(Broken, match="calls a read fresh"):
        checker.read(car, "t", 2, True)
