"""Which voter a sidecar without a vote asks: one, for as long as it answers.

Voters hear of a commit at slightly different moments. Who asks now this one and now that one sees a task go
backwards; who stays with one does not. The failure this prevents: that, and a sidecar that goes on asking a voter
which does not answer.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from bridge.voterset import Voters
from sidecar.errors import PeerUnavailable, StoreUnavailable
from sidecar.peers.link import PeerLink

T = TypeVar("T")


class Near:
    """One sidecar's choice.

    Args:
        links: to the configured peers.
        members: who has a vote.
    """

    def __init__(self, links: Sequence[PeerLink], members: Callable[[], Voters]) -> None:
        self._links, self._members = links, members
        self._chosen: PeerLink | None = None

    def link(self) -> PeerLink | None:
        """The voter to ask; None while none is reached. Chosen by chance, so that gateways spread over voters."""
        reached = self.reached()
        if self._chosen not in reached:
            self._chosen = random.choice(reached) if reached else None  # noqa: S311 - spreads, hides nothing
        return self._chosen

    def reached(self) -> list[PeerLink]:
        """The voters that can be asked."""
        members = self._members()
        return [link for link in self._links if link.connected and link.voter in members]

    def leave(self, link: PeerLink, to: PeerLink | None = None) -> None:
        """It does not answer, or knows less than others: another one is asked from now on."""
        if self._chosen is link:
            others = [each for each in self.reached() if each is not link]
            self._chosen = to or (random.choice(others) if others else link)  # noqa: S311

    async def ask(self, what: str, ask: Callable[[PeerLink], Awaitable[T]]) -> T:
        """The answer of the voter that is asked, or of another one where that is silent.

        Raises:
            StoreUnavailable: nobody answers.
        """
        why = "no voter is reached"
        for _ in self._links:
            link = self.link()
            if link is None:
                break
            try:
                return await ask(link)
            except PeerUnavailable as error:
                why = str(error)
                self.leave(link)
        raise StoreUnavailable(f"{what} cannot be read: {why}", "ask again in a moment")
