"""What a checker must not take for a broken promise, and what it must."""

from __future__ import annotations

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis
from bridge.proposal import SendAppend
from bridge.quorum import Append
from bridge.voterid import VoterFile
from tests.simulation.checkers.promise import Broken
from tests.simulation.database import Database
from tests.simulation.options import Options
from tests.simulation.world import World


def journal(n: int) -> list[Entry]:
    drafts = [Draft(Kind.DISPATCHED, b"{}"), Draft(Kind.CLAIMED, b"{}")]
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
