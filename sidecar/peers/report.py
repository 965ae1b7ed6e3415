"""What one sidecar knows of its cluster, as data: for ``dhp-sidecar cluster show``, control port and metrics.

It is made when somebody asks. The own file says who owns what; each peer that is connected is asked, at once and
for a moment only, which member list it holds. This file must not change anything. The failure it prevents: an
operator who has to compare the logs of all hosts to learn why a cluster takes no work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from bridge.gist import WORKING
from sidecar.peers.clusterstore import ClusterStore
from sidecar.peers.link import PeerLink
from sidecar.peers.pair import AnyMembers
from sidecar.peers.reach import ID_SHOWN, Held, Reach
from sidecar.records import Json
from sidecar.store import SessionRow

_STATES = frozenset(map(str, WORKING))


class Gauge(NamedTuple):
    """A number that is asked for at every scrape."""

    name: str
    text: str
    value: Callable[[], float]


class Report:
    """One sidecar's.

    Args:
        name: of this sidecar.
        store: its own file, joined to the cluster.
        members: the member list as it holds it.
        reach: whom it reaches.
        sessions: all that it has heard of, its own included.
        patience_ms: a session that was not heard of for so long counts as gone.
    """

    def __init__(
        self,
        name: str,
        store: ClusterStore,
        members: AnyMembers,
        reach: Reach,
        sessions: Callable[[], list[SessionRow]],
        patience_ms: int,
    ) -> None:
        self._name, self._store, self._members, self._reach = name, store, members, reach
        self._sessions, self._patience_ms = sessions, patience_ms

    async def made(self) -> Json:
        """All of it.

        Raises:
            StoreError: the own file cannot be read.
        """
        held, rows = await self._reach.lists(), self._sessions()
        itself = [self._itself()] if self._reach.voter else []
        members = [*itself, *(self._peer(link, said) for link, said in held)]
        named = {each["voter"] for each in members}
        strangers = [self._unknown(voter) for voter in self._members.list.members if voter not in named]
        wrong = self._wrong(held)
        return {
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "sidecar": self._name,
            "well": not wrong,
            "wrong": wrong,
            "joined": not self._reach.voter,
            "formed": self._members.formed,
            "cluster": self._members.cluster,
            "list": self._members.list.version,
            "members": [*members, *strangers],
            "sessions": [self._session(row) for row in sorted(rows, key=lambda row: (row.name, -row.boot))],
            "owners": await self._owners(rows),
        }

    def gauges(self) -> list[Gauge]:
        """What is watched all the time; nothing of it asks anybody."""
        members, reach = self._members, self._reach
        rows = (
            ("joined", "1 where this sidecar has no vote in its cluster (--join)", lambda: not reach.voter),
            (
                "formed",
                "1 where this sidecar's voter is on the member list; joined, where there is one",
                lambda: members.formed,
            ),
            ("list_version", "version of the member list as held here, 0 if none", lambda: members.list.version),
            ("members", "voters on the member list as held here", lambda: len(members.list.members)),
            ("members_reached", "members that are reached, this sidecar's included", self._members_reached),
            (
                "peers",
                "sidecars named by --peers, this one included, or by --join",
                lambda: bool(reach.voter) + len(reach.others),
            ),
            ("peers_reached", "sidecars of those that are reached", self._peers_reached),
            ("strangers", "reached voters that are not on the member list", self._strangers_reached),
            ("sessions", "sessions of sidecars that live, this one's included", self._living),
        )
        return [Gauge(f"cluster_{name}", text, value) for name, text, value in rows]

    def _members_reached(self) -> int:
        return sum(voter in self._members.list.members for voter in self._voters_reached())

    def _strangers_reached(self) -> int:
        members = self._members.list.members
        return sum(voter not in members for voter in self._voters_reached()) if members else 0

    def _peers_reached(self) -> int:
        return bool(self._reach.voter) + sum(link.connected for link in self._reach.others)

    def _living(self) -> int:
        return sum(self._lives(row) for row in self._sessions())

    def _voters_reached(self) -> set[str]:
        reached = {link.voter for link in self._reach.others if link.connected}
        return {self._reach.voter, *reached} - {""}

    def _lives(self, row: SessionRow) -> bool:
        return row.evidence is None and row.age_ms < self._patience_ms

    def _itself(self) -> Json:
        voter = self._reach.voter
        return {
            "name": self._name, "voter": voter, "address": "", "itself": True, "reached": True, "why": "",
            "member": voter in self._members.list.members, "list": self._members.list.version,
        }  # fmt: skip

    def _peer(self, link: PeerLink, held: Held) -> Json:
        return {
            "name": link.peer.identity.member if link.peer is not None else "", "voter": link.voter,
            "address": link.url, "itself": False, "reached": not held.why, "why": held.why,
            "member": link.voter in self._members.list.members,
            "list": None if held.list is None else held.list.version,
        }  # fmt: skip

    def _unknown(self, voter: str) -> Json:
        return {
            "name": "", "voter": voter, "address": "", "itself": False, "reached": False, "member": True,
            "why": "is a member, and no address in --peers leads to it" if self._reach.met() is not None else
            "is a member, and was not met yet", "list": None,
        }  # fmt: skip

    def _session(self, row: SessionRow) -> Json:
        return {
            "name": row.name, "session": row.session, "incarnation": row.boot, "lives": self._lives(row),
            "age_ms": row.age_ms, "ready": row.ready, "draining": row.draining,
            "over": str(row.evidence) if row.evidence is not None else "",
            "role": row.role, "group": row.group, "url": row.url, "peer_url": row.address,
        }  # fmt: skip

    async def _owners(self, rows: list[SessionRow]) -> list[Json]:
        """By the own file: a joined sidecar has none of it."""
        work: Counter[str] = Counter()
        waiting: Counter[str] = Counter()
        for row in await self._store.open_handoffs():
            (work if row.state in _STATES else waiting)["" if row.released else row.owner] += 1
        sessions = {row.session: row for row in rows}
        found = []
        for session in {*work, *waiting}:
            owner = sessions.get(session)
            found.append({
                "name": owner.name if owner is not None else "", "session": session,
                "lives": owner is not None and self._lives(owner),
                "at_work": work[session], "waiting": waiting[session],
            })  # fmt: skip
        return sorted(found, key=lambda each: (each["name"], each["session"]))

    def _wrong(self, held: list[tuple[PeerLink, Held]]) -> list[str]:
        members = self._members
        wrong = [each for each in (members.problem, members.doubt) if each]
        wrong += [f"{link.name} {said.why}" for link, said in held if said.why]
        version = members.list.version
        here = version, members.cluster if version else ""
        for link, said in held:
            there = (said.list.version, said.cluster) if said.list is not None else here
            if there != here and not members.problem:
                wrong.append(f"{link.name} holds {_named(*there)}, this sidecar {_named(*here)}")
        reached, needed = self._members_reached(), len(members.list.members) // 2 + 1
        if members.list.members and reached < needed:
            wrong.append(
                f"{reached} of {len(members.list.members)} members are reached and {needed} are needed: no new "
                "task is accepted here, and nothing new is shown"
            )
        return wrong


def _named(version: int, cluster: str) -> str:
    return f"version {version} of cluster {cluster[:ID_SHOWN]}'s member list" if version else "no member list"
