"""Two hosts, each the only voter of what the other one dispatches (``bridge.placement.paired``).

There is no list to form: the pair is this host and the one that was met at the other address. Its voter's id is
kept, because what this host dispatched can be told of only by that file. This file must not know how a claim or an
append travels. The failure it prevents: two hosts that each take the other for gone and go on with the same task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from hashlib import sha256

from bridge.placement import MemberList, paired
from bridge.voterset import Voters, VoterSets
from sidecar.errors import StoreError, StoreUnavailable
from sidecar.peers.members import Members, Read
from sidecar.peers.reach import ID_SHOWN, Reach
from sidecar.peers.sessions import Keeping
from sidecar.ports import Clock, Voter
from sidecar.records import Json
from sidecar.trouble import Trouble

log = logging.getLogger(__name__)

LOOK_S = 0.1
TOLD_AFTER_S = 5.0
"""Both hosts may be started at once: not before then is it told that one of them is missing."""

KEPT = "pair.other"
UNMET = MemberList(0, ())


class Pair:
    """Which voters there are, and which of them a handoff has; it has the surface of ``members.Members``.

    Args:
        me: id of this host's voter.
        urls: both addresses, as they are configured.
        reach: who is met.
        keeping: small values that outlive the process.
        read: committed entries from this host's own file.
        clock: to measure.

    Attributes:
        list: this host and the other one, once that was ever met; there is no version of it.
        cluster: names the pair by its addresses: who was told others is not of it.
        problem: why this sidecar should get no work, for operators; "" if nothing.
        doubt: what does not fit and keeps nobody from working, for operators; "" if nothing.
    """

    def __init__(
        self, me: str, urls: Sequence[str], reach: Reach, keeping: Keeping, read: Read, clock: Clock
    ) -> None:
        self.list = UNMET
        self.cluster = "pair-" + sha256("\n".join(sorted(urls)).encode()).hexdigest()[:27]
        self.problem, self.doubt = _UNMET, ""
        self._me, self._reach, self._keeping, self._read, self._clock = me, reach, keeping, read, clock
        self._other = ""
        self._trouble, self._told_doubt = Trouble(TOLD_AFTER_S), ""

    @property
    def formed(self) -> bool:
        """The other host is known."""
        return bool(self._other)

    async def recall(self) -> None:
        """Know the other host of earlier lives.

        Raises:
            StoreError: it could not be read.
        """
        self._known(await self._keeping.kept(KEPT) or "")

    def names(self, task: str) -> Json:
        """What a ``dispatched`` of this task says of its voters.

        Raises:
            StoreUnavailable: the other host is not known yet.
        """
        return {"voters": [*self.placed(task)[-1]]}

    def placed(self, task: str) -> Sequence[Voters]:  # noqa: ARG002 - all are placed alike
        """The sets to claim at where no journal is known.

        Raises:
            StoreUnavailable: the other host is not known yet.
        """
        if not self._other:
            # Clients read this: who is missing, and where, is for operators.
            raise StoreUnavailable("This pair takes no work yet: its hosts have not met", "ask again in a moment")
        return paired(self._me, (self._me, self._other))

    async def known(self, task: str) -> Sequence[Voters]:
        """The sets to claim at, by this host's copy of the journal.

        What the other host dispatched is committed here alone: this one takes it over alone.
        """
        first = await self._read(task, 0, 1)
        return VoterSets(self.placed(task)).follow(first).needed(len(first))

    async def run_forever(self, voter: Voter) -> None:  # noqa: ARG002 - nothing is to be formed
        """Look who is there, until cancelled."""
        while True:
            try:
                await self._look()
            except StoreError as error:
                log.warning("which host is the other one of this pair could not be kept: %s", error)
            self._tell()
            await asyncio.sleep(LOOK_S)

    def _known(self, other: str) -> None:
        self._other = other
        self.list = MemberList(0, (self._me, other)) if other else UNMET

    async def _look(self) -> None:
        others = self._reach.others
        self.problem = self._why(len(others))
        other = others[0].voter if len(others) == 1 and others[0].connected else ""
        if not other or other == self._other:
            return
        if self._other:
            self.doubt = (
                f"the other host of this pair has another file ({other[:ID_SHOWN]}) than before "
                f"({self._other[:ID_SHOWN]}): what this sidecar dispatched until now was kept there alone and is "
                "lost unless that file comes back"
            )
        await self._keeping.keep(KEPT, other)
        self._known(other)

    def _why(self, others: int) -> str:
        if not others:
            return "both addresses of --pair lead to this sidecar itself: name the other host's, too"
        missing = self._reach.missing()
        if others > 1 and not missing:
            return "neither address of --pair leads to this sidecar: one of the two is its own peer port"
        if not missing:
            return ""
        if not self._other:
            return f"{_UNMET}: {missing}"
        return (
            f"the other host of this pair is the only voter of what begins here, and is not reached: {missing}; "
            "what began there goes on"
        )

    def _tell(self) -> None:
        now = self._clock.monotonic()
        if self.doubt != self._told_doubt:
            self._told_doubt = self.doubt
            log.error("%s", self.doubt)
        if not self.problem:
            if self._trouble.over(now) is not None:
                log.info("both hosts of this pair are there again")
            return
        lasted = self._trouble.wrong(self.problem, now)
        if lasted is not None:
            log.warning("this pair takes no work here, for %.0f s: %s", lasted, self.problem)


AnyMembers = Members | Pair
_UNMET = "the other host of this pair has not been met"
