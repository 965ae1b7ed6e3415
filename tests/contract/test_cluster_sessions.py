"""Sessions among several hosts: who stands by whom, for how long, and what ends one at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.journal import Kind
from bridge.lease import Evidence
from bridge.quorum import Appended, Refusal, Refused
from sidecar.errors import PeerUnavailable
from sidecar.peers.circle import Circle
from sidecar.peers.heard import Heard
from sidecar.peers.quorum import QuorumVoter
from sidecar.peers.sessions import INCARNATION, ClusterSessions
from sidecar.records import SessionCard
from sidecar.store import Renewal, Session
from tests.contract.cluster import TASK, Candidate, Cluster, Wire

TTL, MARGIN = 3_000, 300


class Clock:
    """One for all hosts, in milliseconds."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def __call__(self) -> int:
        return self.ms


class Host:
    """One sidecar of a cluster."""

    def __init__(self, cluster: Cluster, place: int) -> None:
        self.wires: list[Wire] = cluster.wires()
        self.voters = {wire.voter: wire for wire in self.wires}
        heard = cluster.heard[place]
        assert isinstance(heard, Heard)
        self.heard, self.cluster, self.place = heard, cluster, place
        self.sessions = ClusterSessions(
            heard,
            self.voters,
            lambda: (cluster.names,),
            cluster.stores[place],
            peer_url=lambda: f"http://peer{place}",
        )
        self.session = Session("", "", 0)

    async def live(self, name: str = "") -> Session:
        self.session = await self.sessions.register(name or f"host{self.place}", group="g", role="voter", url="u")
        return self.session

    async def renew(self, *, ready: bool = True, draining: bool = False) -> Renewal:
        return await self.sessions.renew(self.session, ready=ready, draining=draining)

    def candidate(self) -> Candidate:
        """What this sidecar wants and owns, with its real session."""
        own = self.cluster.names[self.place]
        circle = Circle(self.session.session, own, self.voters, self.sessions, self.heard.now_ms, 0.5, 0.3)
        quorum = QuorumVoter(circle, self.cluster, self.cluster.stores[self.place].entries)
        self.cluster.quorums.append(quorum)
        self.sessions.on_contact(quorum.contact)
        return Candidate(self.session.session, quorum, self.wires, circle)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cluster(tmp_path: Path, clock: Clock) -> AsyncIterator[Cluster]:
    cluster = await Cluster.open(tmp_path, heard=lambda: Heard(clock, TTL, MARGIN))
    yield cluster
    await cluster.close()


@pytest.fixture
async def hosts(cluster: Cluster, clock: Clock) -> AsyncIterator[list[Host]]:
    """Three, some time after their voters have booted."""
    clock.ms += 10 * TTL
    hosts = [Host(cluster, place) for place in range(3)]
    yield hosts
    for host in hosts:
        await host.sessions.close()


async def test_a_life_is_numbered_above_every_one_before_and_kept_before_anybody_hears_of_it(
    cluster: Cluster, hosts: list[Host]
) -> None:
    first = await hosts[0].live()
    assert await cluster.stores[0].kept(INCARNATION) == str(first.boot)
    second = await Host(cluster, 0).live()
    assert second.boot == first.boot + 1
    assert second.session != first.session
    assert first.boot > 1_600_000_000, "a new disk does not begin at lives that others remember"


async def test_a_session_is_renewed_by_a_majority_and_unknown_without_one(hosts: list[Host]) -> None:
    await hosts[0].live()
    hosts[0].wires[2].dead = True
    assert await hosts[0].renew() is Renewal.RENEWED
    hosts[0].wires[1].dead = True
    with pytest.raises(PeerUnavailable):
        await hosts[0].renew()
    hosts[0].wires[1].dead = False
    assert await hosts[0].renew() is Renewal.RENEWED


async def test_a_voter_that_answers_slowly_is_asked_once_and_delays_nobody(hosts: list[Host]) -> None:
    await hosts[0].live()
    await hosts[0].renew()
    hosts[0].wires[2].hanging = True
    asked = hosts[0].wires[2].asked["renew"]
    for _ in range(5):
        assert await asyncio.wait_for(hosts[0].renew(), 0.5) is Renewal.RENEWED
    assert hosts[0].wires[2].asked["renew"] - asked <= 1


async def test_it_lives_for_its_voters_from_when_it_asked_and_no_longer(
    cluster: Cluster, hosts: list[Host], clock: Clock
) -> None:
    await hosts[0].live()
    await hosts[0].renew()
    sets = (cluster.names,)
    clock.ms += TTL - MARGIN - 1
    assert hosts[0].sessions.may_write(sets)
    clock.ms += 1
    assert not hosts[0].sessions.may_write(sets)
    await hosts[0].renew()
    assert hosts[0].sessions.may_write(sets)
    assert not hosts[0].sessions.may_write((("somebody", "else"),))


async def test_everybody_knows_everybody_by_their_cards(hosts: list[Host], clock: Clock) -> None:
    for host in hosts:
        await host.live()
        await host.renew(ready=True)
    await asyncio.sleep(0.05)
    clock.ms += 700
    await hosts[1].renew(ready=False, draining=True)
    await asyncio.sleep(0.05)
    for host in hosts:
        rows = {row.name: row for row in await host.sessions.list()}
        assert [*sorted(rows)] == ["host0", "host1", "host2"]
        assert (rows["host1"].ready, rows["host1"].draining, rows["host1"].age_ms) == (False, True, 0)
        other = rows["host2" if host.place == 0 else "host0"]
        assert (other.ready, other.age_ms, other.evidence) == (True, 700, None)
        assert (other.group, other.role, other.url) == ("g", "voter", "u")
        assert other.address.startswith("http://peer")
        assert await host.sessions.row(other.session) == other


async def test_a_newer_life_of_the_same_member_ends_the_old_one(cluster: Cluster, hosts: list[Host]) -> None:
    ended: list[str] = []
    hosts[1].sessions.on_death(lambda: ended.append("end"))
    old = await hosts[0].live()
    await hosts[0].renew()
    again = Host(cluster, 0)
    new = await again.live()
    assert await again.renew() is Renewal.RENEWED
    await asyncio.sleep(0.05)
    assert ended == ["end"]
    rows = {row.session: row for row in await hosts[1].sessions.list()}
    assert rows[old.session].evidence is Evidence.NEWER_BOOT
    assert rows[new.session].evidence is None
    assert await hosts[0].renew() is Renewal.FENCED
    assert not hosts[0].sessions.may_write((cluster.names,))
    assert not hosts[1].heard.blocks(old.session, "somebody")
    assert hosts[1].heard.blocks(new.session, "somebody")


async def test_a_release_lets_others_claim_at_once(hosts: list[Host], clock: Clock) -> None:
    ended: list[str] = []
    hosts[1].sessions.on_death(lambda: ended.append("end"))
    session = await hosts[0].live()
    await hosts[0].renew()
    assert hosts[1].heard.blocks(session.session, "somebody")
    await hosts[0].sessions.release(session)
    assert not hosts[1].heard.blocks(session.session, "somebody")
    assert ended == ["end"]
    row = await hosts[1].sessions.row(session.session)
    assert row is not None
    assert row.evidence is Evidence.RELEASED
    assert await hosts[0].renew() is Renewal.FENCED
    assert not hosts[0].sessions.may_write((hosts[0].cluster.names,))


async def test_a_voter_that_has_just_booted_lets_nobody_past_whom_it_may_have_forgotten(clock: Clock) -> None:
    heard = Heard(clock, TTL, MARGIN)
    assert heard.blocks("somebody", "another")
    clock.ms += TTL + MARGIN
    assert not heard.blocks("somebody", "another")


async def test_a_voter_that_becomes_known_hears_of_the_session_at_once(
    cluster: Cluster, hosts: list[Host], clock: Clock
) -> None:
    later = hosts[0].voters.pop(cluster.names[2])
    session = await hosts[0].live()
    assert hosts[0].sessions.own == session
    await hosts[0].renew()
    assert hosts[2].heard.card(session.session) is None
    asked = later.asked.get("renew", 0), hosts[0].wires[1].asked["renew"]
    hosts[0].voters[later.voter] = later
    hosts[0].sessions.met(later.voter)
    await asyncio.sleep(0.05)
    card = hosts[2].heard.card(session.session)
    assert card is not None
    assert (card.name, card.peer_url) == ("host0", "http://peer0")
    assert (later.asked["renew"], hosts[0].wires[1].asked["renew"]) == (asked[0] + 1, asked[1])
    clock.ms += TTL + MARGIN
    assert hosts[2].heard.card(session.session) is None


async def test_what_another_host_says_of_a_session_is_shown_and_not_vouched_for(clock: Clock) -> None:
    heard = Heard(clock, TTL, MARGIN)
    clock.ms += TTL + MARGIN
    heard.told(SessionCard("far", "s1", 4, ready=True), 500)
    heard.told(SessionCard("far", "s1", 4, ready=False), 900)
    (row,) = heard.rows()
    assert (row.name, row.age_ms, row.ready) == ("far", 500, True)
    assert not heard.blocks("s1", "another")
    heard.told(SessionCard("far", "s0", 3), 5)
    assert [row.fenced for row in heard.rows()] == [True, False]


async def test_lives_that_are_long_gone_are_forgotten(clock: Clock) -> None:
    heard = Heard(clock, TTL, MARGIN)
    for life in range(3_000):
        heard.told(SessionCard("restless", f"s{life}", life), 0)
    assert len(heard.rows()) <= 1_000
    clock.ms += 4_000_000
    heard.told(SessionCard("other", "o", 1), 0)
    assert [row.name for row in heard.rows()] == ["other"]


async def test_after_a_lapse_a_handoff_is_fresh_again_only_once_it_is_proven(
    hosts: list[Host], clock: Clock
) -> None:
    await hosts[0].live()
    await hosts[0].renew()
    owner = hosts[0].candidate()
    assert isinstance(await owner.dispatch(), Appended)
    await hosts[0].cluster.agree(2)
    assert owner.quorum.may_act(TASK)
    clock.ms += TTL
    assert not owner.quorum.may_act(TASK)
    assert not owner.quorum.may_write(TASK)
    clock.ms += 1
    for wire in owner.wires:
        wire.appends.clear()
    owner.circle.voters = {}
    assert await hosts[0].renew() is Renewal.RENEWED
    assert owner.quorum.may_write(TASK)
    assert not owner.quorum.may_act(TASK), "in between it may have been granted to another"
    owner.circle.voters = hosts[0].voters
    async with asyncio.timeout(5):
        while not owner.quorum.may_act(TASK):
            await asyncio.sleep(0.01)
    proofs = [append for wire in owner.wires for append, _ in wire.appends]
    assert all(not append.entries and append.committed == 2 for append in proofs)


@pytest.mark.parametrize("kind", [Kind.ORPHANED, Kind.RESOLVED])
async def test_who_gave_a_handoff_up_does_not_call_it_fresh(hosts: list[Host], kind: Kind) -> None:
    await hosts[0].live()
    await hosts[0].renew()
    owner = hosts[0].candidate()
    await owner.dispatch()
    assert owner.quorum.may_act(TASK)
    writing = owner.write(kind, body=b"{}")
    assert not owner.quorum.may_act(TASK)
    await writing


async def test_a_takeover_waits_for_the_lease_and_not_after_a_release(hosts: list[Host], clock: Clock) -> None:
    for host in hosts:
        await host.live()
        await host.renew()
    owner, standby = hosts[0].candidate(), hosts[1].candidate()
    await owner.dispatch()
    await hosts[0].cluster.agree(2)
    clock.ms += TTL
    refused = await standby.claim(2)
    assert isinstance(refused, Refused)
    assert refused.reason is Refusal.HELD
    await hosts[0].sessions.release(hosts[0].session)
    async with asyncio.timeout(5):
        n = await standby.take()
    assert n >= 2
    assert standby.quorum.owned(TASK) is not None
