"""This store as one voter among several: what a ``RemoteVoter`` answers, from its own file.

The owner of a handoff, here or at a peer, drives it (``bridge.proposer``) and says what is committed. Requests are
carried out in the order in which they come, decided by ``bridge.quorum`` in the transaction that writes, and
answered after its disk write. What else comes with an append is shown once it is committed (``heldback``).

A request names the voter that it is meant for: a file that came back as another one answers nothing for it. What
came from a peer is checked down to the last byte: what one voter stores damaged, the next owner would adopt.

This file must not contain a rule. The failure it prevents: a vote for what this file does not have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, Protocol

from bridge.errors import BrokenChain
from bridge.journal import Entry, Kind, Tip, check_link
from bridge.placement import MEMBERS, MemberList, member_list, misplaced
from bridge.quorum import Append, Appended, AppendPlan, Claim, Granted, Refused, VoterView, decide_append
from bridge.session import Renewal
from bridge.voterid import misdirected
from bridge.voterset import alone
from sidecar.records import NO_RIDERS, Riders, SessionCard
from sidecar.store.held import Held
from sidecar.store.reads import Reads
from sidecar.store.rows import Rows
from sidecar.store.voter import Claiming, answer, size_of
from sidecar.store.writer import Writer

ONLY_KEPT = 20_000


class Heard(Protocol):
    """What this host has heard of sessions (``bridge.session.SessionsHeard``), on its own clock."""

    def renewed(self, renewal: Renewal, card: SessionCard) -> bool:
        """A renewal has come; whether this voter stands by the session."""
        ...

    def released(self, renewal: Renewal) -> None:
        """A session let go of everything."""
        ...

    def blocks(self, holder: str, candidate: str) -> bool:
        """See ``HolderBlocks``: called in the writer's thread."""
        ...


class LocalVoter:
    """One voter. Belongs to the event loop of its store.

    Args:
        voter: its id (``bridge.voterid``).
        writer: commits.
        reads: reads what is durable.
        heard: sessions.
        listed: handoffs are placed by the member list, which is a journal of this store; if not, in a pair.
    """

    def __init__(self, voter: str, writer: Writer, reads: Reads, heard: Heard, *, listed: bool = True) -> None:
        self.voter = voter
        self._writer, self._reads, self._heard = writer, reads, heard
        self._members = _Members() if listed else None
        self._only = None if listed else _Only(voter)

    def pre_vote(self, claim: Claim, *, asked: str | None = None) -> Coroutine[Any, Any, Granted | Refused]:
        """What it would answer to a claim; nothing is changed. Queued before this returns.

        Args:
            claim: as it would be made.
            asked: id of the voter that a peer means; None from this process.

        Raises:
            StoreError: nothing is known.
        """
        return self._claiming(claim, asked, ask=True)

    def claim(self, claim: Claim, *, asked: str | None = None) -> Coroutine[Any, Any, Granted | Refused]:
        """Promise a handoff to a candidate, or refuse it. Order, arguments and errors as ``pre_vote``."""
        return self._claiming(claim, asked, ask=False)

    async def read_prefix(
        self, task: str, tip: Tip, after: int, *, asked: str | None = None
    ) -> tuple[Entry, ...] | None:
        """The next chunk of exactly the journal that ends at this tip, None where it is not, or no more, here.

        Raises:
            StoreError: it could not be read.
        """
        return None if self._misdirected(task, asked) else await self._reads.prefix(task, tip, after)

    def append_soon(
        self, append: Append, riders: Riders = NO_RIDERS, *, asked: str | None = None, may_wait: bool = False
    ) -> asyncio.Future[Appended | Refused]:
        """Continue a journal; queued before it returns, behind everything that was asked before.

        Args:
            append: the entries and where they go.
            riders: what comes with them. A peer's inbox is another one: its ids are not looked at.
            asked: id of the voter that a peer means; None from this process.
            may_wait: see ``ports.Voter.append_soon``.

        Returns:
            The answer. StoreError: nothing of it was written, or nobody knows. BrokenChain: entries of a peer that
            are not what was hashed; nothing was written.
        """
        future: asyncio.Future[Appended | Refused] = asyncio.get_running_loop().create_future()
        if asked is not None:
            refused, riders = self._misdirected(append.task, asked), replace(riders, inbox=())
            if refused is not None:
                future.set_result(refused)
                return future
            broken = _broken(append)
            if broken is not None:
                future.set_exception(broken)
                return future
        self._writer.submit(_Append(future, append, riders, self._members, self._only), may_wait=may_wait)
        return future

    async def renew(self, renewal: Renewal, card: SessionCard, *, asked: str | None = None) -> bool:
        """A session says that it lives; whether this voter stands by it."""
        stands = self._heard.renewed(renewal, card)
        return stands and asked in (None, self.voter)

    async def release(self, renewal: Renewal) -> None:
        """A session lets go of everything."""
        self._heard.released(renewal)

    def _misdirected(self, task: str, asked: str | None) -> Refused | None:
        return None if asked is None else misdirected(VoterView.empty(task), asked, self.voter)

    def _claiming(self, claim: Claim, asked: str | None, *, ask: bool) -> Coroutine[Any, Any, Granted | Refused]:
        future: asyncio.Future[Granted | Refused] = asyncio.get_running_loop().create_future()
        refused = self._misdirected(claim.task, asked)
        if refused is None:
            self._writer.submit(Claiming(future, claim, self._heard.blocks, ask=ask))
        else:
            future.set_result(refused)
        return answer(future)


def _broken(append: Append) -> BrokenChain | None:
    # Where it goes is the rule's to judge; that it is what was hashed, from there on, is looked at here.
    tip = Tip(append.entries[0].fence if append.entries else append.fence, append.after_seq, append.after_hash)
    try:
        for entry in append.entries:
            tip = check_link(tip, entry)
    except BrokenChain as error:
        return error
    return None


class _Members:
    """The member list as this store holds it, read again only once its journal has moved. The writer's."""

    def __init__(self) -> None:
        self._at: tuple[str, int] | None = None
        self._list = MemberList(0, ())

    def held(self, rows: Rows) -> MemberList:
        held = rows.held(MEMBERS)
        at = held.view.tip.hash, held.view.committed
        if at != self._at:
            self._list = member_list(rows.journal(held), held.view.committed)
            self._at = at
        return self._list


class _Only:
    """Of which handoffs this voter is the only one, as their journals name it; the writer's.

    What it has taken is committed then, and it is the first to know (``decide_append``).
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self._known: dict[str, bool] = {}

    def one(self, rows: Rows, held: Held, append: Append) -> bool:
        """Whether it is, with an append that it is about to take."""
        names = append.entries and (
            not append.after_seq or any(each.kind is Kind.VOTERS for each in append.entries)
        )
        known = self._known.get(append.task)
        if known is None or names:
            before = rows.journal(held) if held.id else []
            after = [*before[: append.after_seq], *append.entries]
            if after and len(before) > len(after) and before[len(after) - 1].hash == after[-1].hash:
                after = before  # a journal that is longer and equal stays as it is
            known = alone(after, held.view.committed, self._me)
            if len(self._known) >= ONLY_KEPT:
                self._known.clear()
            self._known[append.task] = known
            if not after or any(each.kind is Kind.VOTERS for each in after):  # what is committed decides, too
                del self._known[append.task]
        return known


class _Append:
    __slots__ = ("_append", "_members", "_only", "_riders", "future", "size")

    def __init__(
        self,
        future: asyncio.Future[Appended | Refused],
        append: Append,
        riders: Riders,
        members: _Members | None,
        only: _Only | None,
    ) -> None:
        self.future = future
        self.size = size_of(append) + len(riders.view.finished or b"" if riders.view else b"")
        self._append, self._riders, self._members, self._only = append, riders, members, only

    def run(self, rows: Rows) -> Appended | Refused:
        append = self._append
        held = rows.held(append.task)
        before, released = held.view, held.gist.released
        if self._members is not None and not append.after_seq and append.task != MEMBERS:  # it places others
            refused = misplaced(before, append, self._members.held(rows))
            if refused is not None:
                return refused

        def decide(voters: int) -> tuple[VoterView, AppendPlan, Appended] | Refused:
            return decide_append(before, append, lambda seq: rows.stored_hash(held, seq), voters=voters)

        decision = decide(2)
        if not isinstance(decision, Refused) and self._only is not None and self._only.one(rows, held, append):
            decision = decide(1)
        if isinstance(decision, Refused):
            return decision
        view, plan, appended = decision
        if plan.add or view != before:  # a repeat, or a word that is known, costs no disk write
            rows.put(held, view, plan.add, plan.cut_from)
        rows.ride(held, append.fence, append.after_seq + len(append.entries), self._riders)
        if view.committed > before.committed or held.gist.released != released:
            rows.moved(held)
        return appended
