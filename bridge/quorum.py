"""TEMPORARY HEAD: message types of the quorum rules; the rules themselves follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bridge.journal import Entry, Fence, Tip


class Refusal(StrEnum):
    """Why a voter said no."""

    FENCED = "fenced"  # it has promised a higher fence
    HELD = "held"  # a live lease of another session stands in the way
    GRANTED_ELSEWHERE = "granted_elsewhere"  # a short grant for another candidate is running
    GAP = "gap"  # the append does not continue what the voter has
    PURGED = "purged"  # only a tombstone is left
    UNKNOWN_VOTER = "unknown_voter"


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask for a handoff under a new fence."""

    task: str
    fence: Fence
    candidate: str  # session of the candidate


@dataclass(frozen=True, slots=True)
class Append:
    """Ask a voter to continue a journal."""

    task: str
    fence: Fence
    after_seq: int
    after_hash: str
    entries: Sequence[Entry]
    committed: int


@dataclass(frozen=True, slots=True)
class Granted:
    """A claim's yes: the voter's tip (of its last entry) and what it knows to be committed."""

    tip: Tip
    committed: int


@dataclass(frozen=True, slots=True)
class Appended:
    """An append's yes: an acknowledgement is bound to its fence, position and hash."""

    fence: Fence
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A no. Its tip is for orientation: it never is an acknowledgement."""

    reason: Refusal
    promised: Fence
    tip: Tip
    committed: int
