"""The member list as this host holds it: formed once when all configured voters have met, and used to place.

The list is a journal of its own, kept by the members' voters like any handoff's (``bridge.placement``). Whoever
has met everybody claims it and begins it, one after the other in the order of their ids; where one dies half-way,
the next brings it to its end. Nothing is placed before it is committed here.

This file must not know how a claim or an append travels. The failures it prevents: two lists of one cluster,
formed by hosts that had met different ones; and a handoff that is placed by a list that was heard of and is not
held.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from bridge.journal import Draft, Entry, Fence, Kind, chain, tip_of
from bridge.jsontext import write
from bridge.placement import MEMBERS, MemberList, chosen, member_list, placed
from bridge.quorum import Append, Claim, Refused
from bridge.voterset import Voters, VoterSets
from sidecar.errors import StoreError, StoreUnavailable
from sidecar.ports import Clock, Voter
from sidecar.records import Json

log = logging.getLogger(__name__)

LOOK_S = 0.1
LOOK_FORMED_S = 1.0

TURN_S = 0.3
"""How long each member leaves it to form the list to those before it."""

UNFORMED = MemberList(0, ())

Read = Callable[[str, int, int], Awaitable[list[Entry]]]
Met = Callable[[], Sequence[str] | None]


class Members:
    """Which voters there are, and which of them a handoff has.

    Args:
        me: id of this host's voter.
        name: of this sidecar.
        session: boot nonce of this life.
        read: committed entries from this host's own file.
        met: ids of all configured voters, this host's among them; None while one of them was never met.
        clock: for people.

    Attributes:
        list: as it is committed here.
        cluster: names the cluster, "" before the list is formed.
        problem: why nothing can be placed, or what does not fit, for people; "" if nothing.
    """

    def __init__(self, me: str, name: str, session: str, read: Read, met: Met, clock: Clock) -> None:
        self.list = UNFORMED
        self.cluster = ""
        self.problem = "the configured peers have not all met yet"
        self._me, self._name, self._session = me, name, session
        self._read, self._met, self._clock = read, met, clock
        self._sets: tuple[Voters, ...] = ()
        self._met_at: float | None = None
        self._n = 0
        self._told = ""

    @property
    def formed(self) -> bool:
        """There is a list, and this host's voter is on it."""
        return self._me in self.list.members

    def names(self, task: str) -> Json:
        """What a ``dispatched`` of this task says of its voters.

        Raises:
            StoreUnavailable: there is no list yet.
        """
        return {"voters": [*chosen(task, self._formed().members)], "list": self.list.version}

    def placed(self, task: str) -> Sequence[Voters]:
        """The sets to claim at where no journal is known.

        Raises:
            StoreUnavailable: there is no list yet.
        """
        return self._sets if task == MEMBERS else placed(task, [self._formed()])

    async def known(self, task: str) -> Sequence[Voters]:
        """The sets to claim at, by this host's copy of the journal."""
        return self.placed(task)

    async def run_forever(self, voter: Voter) -> None:
        """Look at this host's copy of the list, and form it where there is none."""
        while True:
            try:
                await self._look()
                if not self.formed:
                    await self._form(voter)
            except StoreError as error:
                log.debug("the member list could not be formed and will be tried again: %s", error)
            await asyncio.sleep(LOOK_FORMED_S if self.formed else LOOK_S)

    def _formed(self) -> MemberList:
        if not self.list.members:
            raise StoreUnavailable(f"This cluster takes no work yet: {self.problem}", "ask again in a moment")
        return self.list

    async def _look(self) -> None:
        entries = await self._read(MEMBERS, 0, 1000)
        if entries:
            self.list = member_list(entries, entries[-1].seq)
            self.cluster = entries[0].hash[:32]
            self._sets = VoterSets(((),)).follow(entries).needed(entries[-1].seq)
        self._judge(self._met())

    def _judge(self, met: Sequence[str] | None) -> None:
        if not self.list.members:
            self.problem = "the configured peers have not all met yet" if met is None else "its voters are forming"
            return
        self.problem = ""
        if not self.formed:
            self.problem = (
                f"the voter of this store ({self._me}) is not a member of the cluster: its file is new, or a copy"
            )
        elif met is not None and sorted(met) != sorted(self.list.members):
            known, others = len(self.list.members), sorted(set(met) - set(self.list.members))
            self.problem = f"--peers leads to voters that are not among the {known} members: {', '.join(others)}"
        if self.problem and self.problem != self._told:
            log.error("%s", self.problem)
        self._told = self.problem

    async def _form(self, voter: Voter) -> None:
        met = self._met()
        if met is None or self.list.members:
            self._met_at = None
            return
        now = self._clock.monotonic()
        self._met_at = now if self._met_at is None else self._met_at
        ids = tuple(sorted(met))
        if now - self._met_at < ids.index(self._me) * TURN_S:
            return
        self._sets = self._sets or (ids,)
        self._n += 1
        answer = await voter.claim(Claim(MEMBERS, Fence(self._n, self._session), self._session))
        if isinstance(answer, Refused):
            self._n = max(self._n, answer.promised.n)
            return
        log_so_far = await voter.read(MEMBERS, 0, answer.tip.seq)
        fence, tip = Fence(self._n, self._session), tip_of(MEMBERS, log_so_far)
        drafts = [Draft(Kind.CLAIMED, write({"owner": self._name, "attempt": 0, "reason": "members"}))]
        if not tip.seq:
            body = {"task": MEMBERS, "handoff": _NO_INTENT, "voters": [*ids]}
            drafts = [Draft(Kind.DISPATCHED, write(body)), *drafts]
        entries = chain(tip, fence, self._clock.wall_ms(), drafts)
        answered = await voter.append(Append(MEMBERS, fence, tip.seq, tip.hash, entries, 0))
        if not isinstance(answered, Refused):
            log.info("the cluster's members are %s", ", ".join(ids))


_NO_INTENT = "0" * 64
"""The list is dispatched by nobody's message."""
