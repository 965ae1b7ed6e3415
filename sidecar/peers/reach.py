"""Which of the configured peers this sidecar reaches, who they are, and why it does not reach the others.

One place for what the log, the readiness page, the metrics and ``dhp-sidecar cluster show`` say about that. This
file must not know what a member list is. The failure it prevents: a cluster that "has not met yet" and does not
say who is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bridge.journal import Entry
from sidecar.errors import PeerUnavailable
from sidecar.peers.link import PeerLink

ID_SHOWN = 8


class Reach:
    """One sidecar's.

    Args:
        voter: id of its own voter.
        name: its own.
        links: one to each configured peer, this sidecar perhaps among them.
    """

    def __init__(self, voter: str, name: str, links: Sequence[PeerLink]) -> None:
        self._voter, self._name, self.links = voter, name, links

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
        ids = {self._voter: None}
        for link in self.others:
            if link.peer is None:
                return None
            ids[link.voter] = None
        return tuple(ids)

    def unmet(self) -> str:
        """Who was never met and why not, for people; "" if everybody was."""
        return "; ".join(f"{link.name} {link.problem}" for link in self.others if link.peer is None)

    def missing(self) -> str:
        """Who is not reached now and why not, for people; "" if everybody is."""
        return "; ".join(f"{link.name} {link.problem}" for link in self.others if not link.connected)

    async def told(self, task: str) -> list[Entry]:
        """Committed entries of a journal, as the first of them that has any tells; [] where none does."""
        for link in self.others:
            with suppress(PeerUnavailable):
                if entries := await link.entries(task):
                    return entries
        return []

    def called(self, voter: str) -> str:
        """A voter by the name of its sidecar and where that is, for people."""
        if voter == self._voter:
            return f"{self._name} (this sidecar)"
        for link in self.others:
            if link.peer is not None and link.voter == voter:
                return f"{link.peer.identity.member} at {link.url}"
        return f"the unknown voter {voter[:ID_SHOWN]}"

    def all_called(self, voters: Sequence[str]) -> str:
        """The same for several."""
        return ", ".join(self.called(voter) for voter in voters)
