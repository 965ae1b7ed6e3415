"""Which of the configured peers this sidecar reaches, who they are, and why it does not reach the others.

One place for what the log, the readiness page, the metrics and ``dhp-sidecar cluster show`` say about that. This
file must not know what a member list is. The failure it prevents: a cluster that "has not met yet" and does not
say who is missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from bridge.errors import BridgeError
from bridge.placement import MEMBERS, MemberList, member_list
from sidecar.errors import PeerUnavailable
from sidecar.peers.link import PeerLink

ID_SHOWN = 8
NO_VOTE = "has no vote: it was started with --join"
ASK_S = 1.0
"""How long a peer is given to say which member list it holds: somebody waits."""

LIST_ENTRIES = 1000
CLUSTER_ID = 32
"""A cluster is named by so much of the hash of its list's first entry."""


class Held(NamedTuple):
    """The member list that a peer holds.

    Attributes:
        list: version 0 where it holds none; None where that is not known.
        cluster: "" where it holds none.
        why: it is not known.
    """

    list: MemberList | None
    cluster: str = ""
    why: str = ""


class Reach:
    """One sidecar's.

    Args:
        voter: id of its own voter, "" where it has none.
        name: its own.
        links: one to each configured peer, this sidecar perhaps among them.
    """

    def __init__(self, voter: str, name: str, links: Sequence[PeerLink]) -> None:
        self.voter, self._name, self.links = voter, name, links

    @property
    def others(self) -> list[PeerLink]:
        """Those that do not lead back to this sidecar."""
        return [link for link in self.links if not link.itself]

    @property
    def alone(self) -> bool:
        """Every address that is configured leads to this sidecar itself."""
        return not self.others

    def met(self) -> tuple[str, ...] | None:
        """Ids of all configured voters and of this one; None while one of them was never met."""
        ids = {self.voter: None} if self.voter else {}
        for link in self.others:
            if not link.voter:
                return None
            ids[link.voter] = None
        return tuple(ids)

    def unmet(self) -> str:
        """Who was never met and why not, for people; "" if everybody was."""
        return "; ".join(f"{link.name} {link.problem or NO_VOTE}" for link in self.others if not link.voter)

    def missing(self) -> str:
        """Who is not reached now and why not, for people; "" if everybody is."""
        return "; ".join(f"{link.name} {link.problem}" for link in self.others if not link.connected)

    async def lists(self) -> list[tuple[PeerLink, Held]]:
        """The member list of each other peer, as it says itself, all asked at once."""
        links = self.others
        return [*zip(links, await asyncio.gather(*map(_held, links)), strict=True)]

    def called(self, voter: str) -> str:
        """A voter by the name of its sidecar and where that is, for people."""
        if voter == self.voter:
            return f"{self._name} (this sidecar)"
        for link in self.others:
            if link.peer is not None and link.voter == voter:
                return f"{link.peer.identity.member} at {link.url}"
        return f"the unknown voter {voter[:ID_SHOWN]}"

    def all_called(self, voters: Sequence[str]) -> str:
        """The same for several."""
        return ", ".join(self.called(voter) for voter in voters)


async def _held(link: PeerLink) -> Held:
    if not link.connected:
        return Held(None, why=link.problem)
    try:
        async with asyncio.timeout(ASK_S):
            entries = await link.entries(MEMBERS, 0, LIST_ENTRIES)
        if not entries:
            return Held(MemberList(0, ()))
        return Held(member_list(entries, entries[-1].seq), entries[0].hash[:CLUSTER_ID])
    except TimeoutError:
        return Held(None, why=f"is connected and has not answered within {ASK_S:g} s")
    except PeerUnavailable as error:
        return Held(None, why=f"is connected and does not answer: {error}")
    except BridgeError as error:
        return Held(None, why=f"holds a member list that is none: {error}")
