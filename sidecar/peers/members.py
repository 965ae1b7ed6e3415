"""The member list as this host holds it: formed once when all configured voters have met, and used to place.

The list is a journal of its own, kept by the members' voters like any handoff's (``bridge.placement``). Whoever
has met everybody claims it and begins it, one after the other in the order of their ids; where one dies half-way,
the next brings it to its end. Nothing is placed before it is committed here.

This file must not know how a claim or an append travels. The failures it prevents: two lists of one cluster,
formed by hosts that had met different ones; a list that a host forms with members of another cluster; and a
handoff that is placed by a list that was heard of and is not held.
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
from sidecar.peers.reach import CLUSTER_ID, ID_SHOWN, Reach
from sidecar.ports import Clock, Voter
from sidecar.records import Json
from sidecar.trouble import Trouble

log = logging.getLogger(__name__)

LOOK_S = 0.1
LOOK_FORMED_S = 1.0

TURN_S = 0.3
"""How long each member leaves it to form the list to those before it."""

TOLD_AFTER_S = 5.0
"""All hosts of a cluster may be started at once: not before then is it told that there is no list, or who is on it
that was not met."""

UNFORMED = MemberList(0, ())

Read = Callable[[str, int, int], Awaitable[list[Entry]]]


class Members:
    """Which voters there are, and which of them a handoff has.

    Args:
        me: id of this host's voter.
        name: of this sidecar.
        session: boot nonce of this life.
        read: committed entries from this host's own file.
        reach: who is met, this host's voter among them, and what they tell.
        clock: for people.

    Attributes:
        list: as it is committed here.
        cluster: names the cluster, "" before the list is formed.
        problem: why this sidecar should get no work, for operators; "" if nothing.
        doubt: what does not fit and keeps nobody from working, for operators; "" if nothing.
    """

    def __init__(self, me: str, name: str, session: str, read: Read, reach: Reach, clock: Clock) -> None:
        self.list = UNFORMED
        self.cluster = self.doubt = ""
        self.problem = _UNMET
        self._me, self._name, self._session = me, name, session
        self._read, self._reach, self._clock = read, reach, clock
        self._sets: tuple[Voters, ...] = ()
        self._met_at: float | None = None
        self._known_at: float | None = None
        self._n = self._version_told = 0
        self._failed = self._elsewhere = ""
        self._unformed, self._wrong = Trouble(TOLD_AFTER_S), Trouble()

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
                await self.look()
                if not self.formed:
                    await self._form(voter)
                self._tell()
            except StoreError as error:
                self._failed = str(error)
                log.debug("the member list could not be read or formed and will be tried again: %s", error)
            await asyncio.sleep(LOOK_FORMED_S if self.list.members or self._elsewhere else LOOK_S)

    def _formed(self) -> MemberList:
        if not self.list.members:
            # Clients read this: who is missing, and where, is for operators.
            raise StoreUnavailable("This cluster takes no work yet: it is not formed", "ask again in a moment")
        return self.list

    async def recall(self) -> None:
        """Know the list of earlier lives.

        Raises:
            StoreError: it cannot be read.
        """
        await self.look()

    async def look(self) -> None:
        """Read this host's copy of the list.

        Raises:
            StoreError: it cannot be read.
        """
        entries = await self._read(MEMBERS, 0, 1000)
        if entries:
            self.list = member_list(entries, entries[-1].seq)
            self.cluster = entries[0].hash[:CLUSTER_ID]
            self._sets = VoterSets(((),)).follow(entries).needed(entries[-1].seq)
        self._judge(self._reach.met())

    def _judge(self, met: Sequence[str] | None) -> None:
        members = self.list.members
        self.problem = self.doubt = ""
        if not members:
            self.problem = self._why_unformed(met)
        elif not self.formed:
            self.problem = self._no_member(self.cluster)
        elif met is not None and (others := [each for each in met if each not in members]):
            self.doubt = (
                f"--peers leads to what is no member of this cluster: {self._reach.all_called(others)}; its file "
                "is new or a copy: it votes on nothing, and what its old file kept is at the other members alone"
            )
        elif met is not None and len(met) < len(members):
            left_out = [each[:ID_SHOWN] for each in members if each not in met]
            self.doubt = (
                f"--peers names {len(met)} of the {len(members)} members: the voter {', '.join(left_out)} is not "
                "among them; give every sidecar the addresses of all members"
            )

    def _why_unformed(self, met: Sequence[str] | None) -> str:
        if self._reach.alone:
            return "--peers names only this sidecar itself: give every sidecar the addresses of all members"
        if self._elsewhere:
            return self._elsewhere
        if met is None:
            return f"{_UNMET}: {self._reach.unmet()}"
        return "its members have met and are writing down who they are" + (
            f": {self._failed}" if self._failed else ""
        )

    def _no_member(self, cluster: str) -> str:
        return (
            f"the voter of this store ({self._me[:ID_SHOWN]}) is not a member of cluster {cluster[:ID_SHOWN]}: "
            "its file is new or a copy; start it on the file that it had; if that is lost, the other members go "
            "on without it"
        )

    async def _settled_elsewhere(self) -> str:
        """Why this host has no list to form, by what those say who hold one; "" if it may."""
        held = [(link, said) for link, said in await self._reach.lists() if said.cluster]
        clusters = {said.cluster: link for link, said in held}
        if len(clusters) > 1:
            named = ", ".join(f"{link.name} to {each[:ID_SHOWN]}" for each, link in clusters.items())
            return f"the configured peers belong to different clusters ({named}): give --peers the members of one"
        if any(said.list is not None and self._me in said.list.members for _, said in held):
            return ""  # who formed it was gone before this host heard of it
        return self._no_member(next(iter(clusters))) if clusters else ""

    def _tell(self) -> None:
        """The log hears who the members are, once, and what is wrong, in time."""
        now = self._clock.monotonic()
        if not self.list.members:
            lasted = self._unformed.wrong(self.problem, now)
            if lasted is not None:
                log.warning("this cluster takes no work yet, for %.0f s: %s", lasted, self.problem)
            return
        self._unformed.over(now)
        self._known_at = now if self._known_at is None else self._known_at
        in_time = now - self._known_at < TOLD_AFTER_S
        if self.list.version != self._version_told and not (self._reach.met() is None and in_time):
            self._version_told = self.list.version
            log.info(
                "this cluster has %d members: %s", len(self.list.members),
                self._reach.all_called(self.list.members),
                extra={"cluster": self.cluster, "list": self.list.version, "members": [*self.list.members]},
            )  # fmt: skip
        wrong = self.problem or self.doubt
        if not wrong:
            if self._wrong.over(now) is not None:
                log.info("the configured peers are the members of this cluster again")
        elif self._wrong.wrong(wrong, now) is not None:
            log.log(logging.ERROR if self.problem else logging.WARNING, "%s", wrong)

    async def _form(self, voter: Voter) -> None:
        met = self._reach.met()
        if met is None or self.list.members or self._reach.alone:
            self._met_at = None
            return
        now = self._clock.monotonic()
        self._met_at = now if self._met_at is None else self._met_at
        ids = tuple(sorted(met))
        if now - self._met_at < ids.index(self._me) * TURN_S:
            return
        # A list without this voter is not this voter's to write in: its claims would follow one another for ever.
        self._elsewhere = await self._settled_elsewhere()
        if self._elsewhere:
            return
        self._sets = self._sets or (ids,)
        self._n += 1
        answer = await voter.claim(Claim(MEMBERS, Fence(self._n, self._session), self._session))
        if isinstance(answer, Refused):
            self._n = max(self._n, answer.promised.n)
            return
        log_so_far = await voter.read(MEMBERS, 0, answer.tip.seq)
        if log_so_far and self._me not in member_list(log_so_far, log_so_far[-1].seq).members:
            return
        fence, tip = Fence(self._n, self._session), tip_of(MEMBERS, log_so_far)
        drafts = [Draft(Kind.CLAIMED, write({"owner": self._name, "attempt": 0, "reason": "members"}))]
        if not tip.seq:
            body = {"task": MEMBERS, "handoff": _NO_INTENT, "voters": [*ids]}
            drafts = [Draft(Kind.DISPATCHED, write(body)), *drafts]
        entries = chain(tip, fence, self._clock.wall_ms(), drafts)
        await voter.append(Append(MEMBERS, fence, tip.seq, tip.hash, entries, 0))
        self._failed = ""


_UNMET = "not all of the configured peers have been met"
_NO_INTENT = "0" * 64
"""The list is dispatched by nobody's message."""
