"""A handoff's life as one table, and the handoff itself as a fold of its journal.

``TRANSITIONS`` says which entry may stand where; everything that draws, checks or explains a handoff's states
reads it. The failure this prevents: an entry that the state does not allow (a second terminal, a checkpoint of a
superseded owner, output without a claim) being written, shipped or folded. An entry is checked completely before
the first field changes, so a refusal leaves the handoff as it was.

This file must not know what agents, clients or tasks look like (the ``a2a`` package does), nor whose write wins a
race (``quorum`` does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from bridge.errors import BrokenChain, IllegalTransition
from bridge.journal import NO_FENCE, TERMINAL, Entry, Fence, Kind, Tip, check_link, genesis
from bridge.jsontext import parse_stored

Body = dict[str, Any]


class State(StrEnum):
    """Where a handoff is. The last six are final."""

    ABSENT = "absent"
    DISPATCHED = "dispatched"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUSPENDED = "suspended"
    ORPHANED = "orphaned"
    REVIEW = "review"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"
    REPLY = "reply"
    EXPIRED = "expired"


FINAL: Final[tuple[State, ...]] = tuple(State(kind.value) for kind in Kind if kind in TERMINAL)

_ENDS: Final[dict[Kind, State]] = {Kind(state.value): state for state in FINAL}


def _anywhere(state: State) -> dict[Kind, State]:
    # What the outside world may bring at any time between the dispatch and the end; none of it moves the handoff.
    return dict.fromkeys((Kind.INPUT, Kind.CANCEL, Kind.ANSWERED, Kind.PUSH, Kind.VOTERS), state)


def _sealed(state: State) -> dict[Kind, State]:
    # The end is final. A later owner seals it under its own fence, and a late response may still be recorded.
    return dict.fromkeys((Kind.CLAIMED, Kind.VOTERS, Kind.ANSWERED), state)


TRANSITIONS: Final[dict[State, dict[Kind, State]]] = {
    State.ABSENT: {Kind.DISPATCHED: State.DISPATCHED},
    State.DISPATCHED: {
        **_anywhere(State.DISPATCHED),
        Kind.CLAIMED: State.CLAIMED,
        Kind.EXPIRED: State.EXPIRED,
    },
    State.CLAIMED: {
        **_anywhere(State.CLAIMED),
        Kind.CLAIMED: State.CLAIMED,
        Kind.BOUND: State.RUNNING,
        Kind.EVENT: State.CLAIMED,  # differences found before rebinding, and events that the sidecar itself makes
        Kind.REWOUND: State.CLAIMED,
        Kind.ORPHANED: State.ORPHANED,
        Kind.REVIEW: State.REVIEW,
        **_ENDS,
    },
    State.RUNNING: {
        **_anywhere(State.RUNNING),
        Kind.CLAIMED: State.CLAIMED,
        Kind.BOUND: State.RUNNING,
        Kind.EVENT: State.RUNNING,
        Kind.REWOUND: State.RUNNING,
        Kind.STEP: State.RUNNING,
        Kind.SPEND: State.RUNNING,
        Kind.SUSPENDED: State.SUSPENDED,
        Kind.ORPHANED: State.ORPHANED,
        Kind.REVIEW: State.REVIEW,
        **_ENDS,
    },
    State.SUSPENDED: {
        **_anywhere(State.SUSPENDED),
        # A new owner of a task that waits has nothing to run; a checkpoint may have ridden on the question.
        **dict.fromkeys((Kind.CLAIMED, Kind.STEP, Kind.ORPHANED), State.SUSPENDED),
        Kind.BOUND: State.RUNNING,
        Kind.REVIEW: State.REVIEW,  # the answer has come, and of what the lost run did before nobody knows enough
        **_ENDS,
    },
    State.ORPHANED: {**_anywhere(State.ORPHANED), Kind.CLAIMED: State.CLAIMED, Kind.EXPIRED: State.EXPIRED},
    State.REVIEW: {
        **_anywhere(State.REVIEW),
        Kind.CLAIMED: State.REVIEW,  # nothing resets a review but its resolution
        Kind.RESOLVED: State.ORPHANED,
        **_ENDS,
    },
    **{state: _sealed(state) for state in FINAL},
}


@dataclass(slots=True)
class Handoff:
    """Everything that a journal says, apart from what its agent produced.

    Attributes:
        task_id: the public task id, which the journal's first hash names.
        handoff_id: hash of the intent, "" before the dispatch.
        dispatched: body of the ``dispatched`` entry.
        state: where it is in ``TRANSITIONS``.
        tip: of the last applied entry.
        fence: of the owner; entries of any other fence are refused until its ``claimed``.
        owner: name of the sidecar that claimed last, "" before the first claim.
        attempts: how many runs the agents were asked to begin; reattaching to a run begins none.
        cut: position of the last ``step``, 0 where there is none: a new run resumes from here.
        step: body of that step.
        bound: body of the last ``bound``: which agent has, or had, the run.
        inputs: bodies of the client's later messages, in order.
        due: inputs after the last binding and question, by position: no agent is known to have been given them.
        cancel: body of the first ``cancel``, a wish that outlives its owner.
        review: body of the ``review`` that is waiting for an operator.
        terminal: the entry kind that ended it.
        answered: messageIds whose response was written out.
    """

    task_id: str
    tip: Tip
    handoff_id: str = ""
    dispatched: Body = field(default_factory=dict)
    state: State = State.ABSENT
    fence: Fence = NO_FENCE
    owner: str = ""
    attempts: int = 0
    cut: int = 0
    step: Body | None = None
    bound: Body | None = None
    inputs: list[Body] = field(default_factory=list)
    due: dict[int, Body] = field(default_factory=dict)
    cancel: Body | None = None
    review: Body | None = None
    terminal: Kind | None = None
    answered: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def absent(cls, task_id: str) -> Handoff:
        """The handoff of an empty journal."""
        return cls(task_id, genesis(task_id))

    @classmethod
    def fold(cls, task_id: str, entries: Iterable[Entry]) -> Handoff:
        """The handoff that a journal describes, every entry of it verified.

        Raises:
            BrokenChain, IllegalTransition, MalformedJson: at the first entry that may not stand where it does, or
                where the newest checkpoint has lost its body, which only a superseded one may.
        """
        handoff = cls.absent(task_id)
        for entry in entries:
            handoff.apply(entry)
        if handoff.cut and handoff.step is None:
            raise BrokenChain(handoff.cut, "the newest checkpoint has no body")
        return handoff

    @property
    def cancel_pending(self) -> bool:
        """Whether a client's wish to cancel waits for an owner to carry it out."""
        return self.cancel is not None and self.terminal is None

    def apply(self, entry: Entry, body: Body | None = None, *, trusted: bool = False) -> None:
        """Move on by one entry, or raise and change nothing.

        Args:
            entry: the next entry of the journal.
            body: its parsed body where the caller has it; parsed here only for kinds that change a field.
            trusted: the caller made the entry itself a moment ago: its hashes are not computed again. Position,
                predecessor, fence and transition are checked all the same.

        Raises:
            BrokenChain: it does not follow from the tip, or its body is missing or incomplete.
            IllegalTransition: the state does not allow this kind, or the fence is not the owner's.
            MalformedJson: its body is not JSON.
        """
        kind = entry.kind
        if trusted:
            tip = self.tip
            if entry.seq != tip.seq + 1 or entry.prev != tip.hash or entry.fence < tip.fence:
                raise BrokenChain(entry.seq, f"does not follow entry {tip.seq}")
            tip = Tip(entry.fence, entry.seq, entry.hash)
        else:
            tip = check_link(self.tip, entry)
        state = TRANSITIONS[self.state].get(kind)
        if state is None:
            raise IllegalTransition(f"entry {entry.seq}: {kind} in state {self.state}")
        if entry.fence != self.fence or kind == Kind.CLAIMED:
            self._check_fence(entry)
        change = _CHANGES.get(kind)
        if change is None:
            if entry.body is None:
                raise BrokenChain(entry.seq, f"the body of a {kind} is missing")
        else:
            # Everything that can be refused is refused in here before the first assignment.
            change(self, entry, _body_of(entry) if body is None else body)
        self.tip = tip
        self.state = state

    def _check_fence(self, entry: Entry) -> None:
        if entry.kind == Kind.CLAIMED:
            first = not self.owner and entry.fence == self.fence
            if not first and entry.fence.n <= self.fence.n:
                raise IllegalTransition(f"entry {entry.seq}: a claim needs a fence above {self.fence.n}")
        elif entry.kind != Kind.DISPATCHED:
            raise IllegalTransition(f"entry {entry.seq}: {entry.kind} under a fence that has not claimed")


def _body_of(entry: Entry) -> Body:
    if entry.body is not None:
        return parse_stored(entry.body)
    if entry.kind == Kind.STEP:
        return {}
    raise BrokenChain(entry.seq, f"the body of a {entry.kind} is missing")


def _text(entry: Entry, body: Body, name: str) -> str:
    value = body.get(name)
    if type(value) is not str or not value:
        raise BrokenChain(entry.seq, f"a {entry.kind} without {name}")
    return value


def _dispatched(handoff: Handoff, entry: Entry, body: Body) -> None:
    handoff_id = _text(entry, body, "handoff")
    if _text(entry, body, "task") != handoff.task_id:
        raise BrokenChain(entry.seq, "it dispatches another task")
    handoff.handoff_id, handoff.dispatched, handoff.fence = handoff_id, body, entry.fence


def _claimed(handoff: Handoff, entry: Entry, body: Body) -> None:
    handoff.owner, handoff.fence = _text(entry, body, "owner"), entry.fence


def _bound(handoff: Handoff, _: Entry, body: Body) -> None:
    handoff.attempts += body.get("fresh") is True
    handoff.bound, handoff.due = body, {}


def _input(handoff: Handoff, entry: Entry, body: Body) -> None:
    _text(entry, body, "id")
    handoff.inputs.append(body)
    handoff.due = {**handoff.due, entry.seq: body}


def _step(handoff: Handoff, entry: Entry, body: Body) -> None:
    if entry.body is not None and "state" not in body:
        return  # receipts alone: nothing to resume from
    handoff.cut, handoff.step = entry.seq, body if entry.body is not None else None


def _suspended(handoff: Handoff, _: Entry, __: Body) -> None:
    # What a client said before it was asked is no answer: with that alone nobody could go on.
    handoff.due = {}


def _cancel(handoff: Handoff, _: Entry, body: Body) -> None:
    handoff.cancel = handoff.cancel or body


def _answered(handoff: Handoff, entry: Entry, body: Body) -> None:
    handoff.answered[_text(entry, body, "messageId")] = True


def _review(handoff: Handoff, entry: Entry, body: Body) -> None:
    handoff.review = body if entry.kind is Kind.REVIEW else None


def _ended(handoff: Handoff, entry: Entry, _: Body) -> None:
    handoff.terminal, handoff.review = entry.kind, None


_CHANGES: Final[dict[Kind, Callable[[Handoff, Entry, Body], None]]] = {
    Kind.DISPATCHED: _dispatched,
    Kind.CLAIMED: _claimed,
    Kind.BOUND: _bound,
    Kind.INPUT: _input,
    Kind.STEP: _step,
    Kind.SUSPENDED: _suspended,
    Kind.CANCEL: _cancel,
    Kind.ANSWERED: _answered,
    Kind.REVIEW: _review,
    Kind.RESOLVED: _review,
    **{kind: _ended for kind in Kind if kind in TERMINAL},
}
