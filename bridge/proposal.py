"""What goes into a proposer and what comes out: news in the past tense, effects in the imperative.

Effects are data, so that "the append precedes the send" is an assertion on a list. The shell that carries effects
out and brings news back may lose, repeat and reorder both. The rules themselves are in ``proposer``; this file
must know nothing but shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bridge.journal import NO_FENCE, Draft, Entry, Fence, Tip
from bridge.quorum import Append, Appended, Claim, Granted, Refused


@dataclass(frozen=True, slots=True)
class SendPreVote:
    """Ask a voter what it would answer to this claim."""

    voter: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class SendClaim:
    """Send a claim to a voter."""

    voter: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class ReadPrefix:
    """Read a voter's journal up to exactly this tip, in chunks.

    Attributes:
        voter: id of the voter that granted it.
        tip: where the whole prefix must end.
        after: position that the next chunk follows.
    """

    voter: str
    tip: Tip
    after: int = 0


@dataclass(frozen=True, slots=True)
class OpenJournal:
    """The journal is adopted, once under this fence: answer with ``Opened``, which begins with ``claimed``."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class SendAppend:
    """Send an append to a voter."""

    voter: str
    append: Append


@dataclass(frozen=True, slots=True)
class Committed:
    """Everything up to this position is committed and may be shown; the first of these begins the ownership."""

    seq: int


@dataclass(frozen=True, slots=True)
class Lost:
    """This fence is over. A new attempt needs ``n`` above the promised one.

    Attributes:
        reason: why.
        promised: the highest fence that any voter named.
    """

    reason: str
    promised: Fence


Effect = SendPreVote | SendClaim | ReadPrefix | OpenJournal | SendAppend | Committed | Lost


@dataclass(frozen=True, slots=True)
class Began:
    """The wish to own the handoff.

    Attributes:
        seen: the newest fence of an entry of it that was seen (``quorum.Claim``).
    """

    seen: Fence = NO_FENCE


@dataclass(frozen=True, slots=True)
class PreVoted:
    """A voter said what it would answer."""

    voter: str
    fence: Fence
    answer: Granted | Refused


@dataclass(frozen=True, slots=True)
class ClaimAnswered:
    """A voter answered a claim of this fence."""

    voter: str
    fence: Fence
    answer: Granted | Refused


@dataclass(frozen=True, slots=True)
class PrefixRead:
    """A chunk of a voter's journal up to a tip.

    Attributes:
        voter: id of the voter that was asked.
        tip: that was asked for.
        entries: what follows ``after``; None where it no longer has that prefix.
        after: as asked.
    """

    voter: str
    tip: Tip
    entries: tuple[Entry, ...] | None
    after: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """The owner's next drafts; the first ones begin with its ``claimed``.

    Attributes:
        at: milliseconds since 1970 UTC, for people.
        drafts: what to append.
        ready: instead of both, entries that the owner has chained to its journal itself: it folds what it writes
            before it sends it, and nothing is to be hashed twice.
    """

    at: int
    drafts: Sequence[Draft] = ()
    ready: Sequence[Entry] = ()


@dataclass(frozen=True, slots=True)
class AppendAnswered:
    """A voter answered an append of this fence."""

    voter: str
    fence: Fence
    answer: Appended | Refused


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Time passed without news: send again what is unanswered.

    Attributes:
        voters: to these only, because what was sent to the others is still under way; None: to everybody.
    """

    voters: tuple[str, ...] | None = None


Event = Began | PreVoted | ClaimAnswered | PrefixRead | Opened | AppendAnswered | Elapsed
