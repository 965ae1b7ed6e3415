"""What a run was told at its start, and which of its effects have a receipt.

Data only, so that the rules of effects can be read and tested without an agent: it must not know the A2A SDK nor
how marks travel. It prevents the failure that a resumed run pays an invoice twice because it "was not paid".
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

log = logging.getLogger(__name__)

INTEGER_MAX: Final = 2**53
"""Metadata travels as doubles in the SDK: a larger integer would come back as another one."""

INTENDED: Final = "intended"
DONE: Final = "done"
UNKNOWN: Final = "unknown"


class _NotDone(Enum):
    NOT_DONE = "not done"


NOT_DONE: Final = _NotDone.NOT_DONE
"""What ``reconcile`` answers when the effect did not happen, or may safely be asked for again under its key."""


class UnknownOutcome(RuntimeError):
    """An effect was begun by an earlier attempt and nobody knows whether it happened.

    Args:
        step: the effect's name.
        key: the key under which the other side may know it.
    """

    def __init__(self, step: str, key: str) -> None:
        super().__init__(
            f"effect {step!r} (key {key!r}) was begun but has no receipt: it may or may not have happened. "
            "Pass reconcile= to ask the other side, or settle it by hand and resolve the handoff's review."
        )
        self.step = step
        self.key = key


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a sidecar tells an agent about the run that a message starts.

    Attributes:
        supervised: a sidecar sent it. Without one a run is an ordinary run and marks go nowhere.
        attempt: 1 for the first run of the task.
        fence: number under which this run's output counts; None without a sidecar.
        task: the id under which clients know the task, the same in every attempt; "" without a sidecar.
        checkpoint: the state last recorded, or None.
        receipts: effect marks recorded so far, oldest first.
        delivered: how much of the output clients already have, as the sidecar counts it.
        resumed: an earlier run of this task exists.
    """

    supervised: bool = False
    attempt: int = 1
    fence: int | None = None
    task: str = ""
    checkpoint: Any = None
    receipts: tuple[Mapping[str, Any], ...] = ()
    delivered: Mapping[str, Any] = field(default_factory=dict)
    resumed: bool = False

    def keeps_checkpoints(self) -> bool:
        """Whether whoever called keeps checkpoints; where not, that is said once in this process."""
        if not self.supervised:
            tell_not_kept()
        return self.supervised

    @classmethod
    def parse(cls, found: Any) -> RunInfo:
        """Read the ``/run`` metadata; anything that is not one reads as "no sidecar"."""
        if not isinstance(found, Mapping):
            return cls()
        value = from_wire(found)
        resume = value.get("resume")
        resume = resume if isinstance(resume, dict) else {}
        attempt = value.get("attempt")
        fence = value.get("fence")
        receipts = resume.get("receipts")
        delivered = resume.get("delivered")
        return cls(
            supervised=True,
            attempt=attempt if isinstance(attempt, int) else 1,
            fence=fence if isinstance(fence, int) else None,
            task=str(value.get("task") or ""),
            checkpoint=resume.get("checkpoint"),
            receipts=tuple(r for r in receipts if isinstance(r, dict)) if isinstance(receipts, list) else (),
            delivered=delivered if isinstance(delivered, dict) else {},
            resumed=bool(resume),
        )


class Receipts:
    """Which effects of the task were begun, and what those that finished returned.

    Args:
        marks: effect marks ``{step, phase, key, result}`` of earlier runs, in any order.
    """

    def __init__(self, marks: Iterable[Mapping[str, Any]] = ()) -> None:
        self._done: dict[str, Any] = {}
        self._begun: dict[str, str] = {}
        for mark in marks:
            self.record(mark)

    def record(self, mark: Mapping[str, Any]) -> None:
        """Take one mark in. A receipt stands whatever comes after it."""
        step = mark.get("step")
        if not isinstance(step, str):
            return
        if mark.get("phase") == DONE:
            self._done.setdefault(step, mark.get("result"))
        else:
            self._begun.setdefault(step, str(mark.get("key") or ""))

    def done(self, step: str) -> bool:
        """Whether the effect has a receipt."""
        return step in self._done

    def result(self, step: str) -> Any:
        """What the effect returned. Raises KeyError without a receipt."""
        return self._done[step]

    def begun(self, step: str) -> str | None:
        """The key of an effect that was intended and has no receipt, else None."""
        return None if step in self._done else self._begun.get(step)

    def results(self) -> dict[str, Any]:
        """Step to result of everything that has a receipt."""
        return dict(self._done)


@functools.cache
def tell_not_kept() -> None:
    """Say once in this process that checkpoints go nowhere: without a sidecar that is as it should be."""
    log.info(
        "checkpoints are not kept: the caller did not ask for them "
        "(no sidecar, or the card does not declare the extension: declare_durable(card))"
    )


def from_wire(value: Any) -> Any:
    """A JSON value as its author wrote it: the SDK carries metadata as doubles, so 7 arrives as 7.0."""
    if isinstance(value, Mapping):
        return {str(k): from_wire(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [from_wire(v) for v in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= INTEGER_MAX:
        return int(value)
    return value


def to_wire(value: Any, where: str) -> Any:
    """The value as metadata can carry it without changing it.

    Args:
        value: JSON-like: dicts with string keys, lists, tuples, strings, numbers, booleans, None.
        where: what the value is, for the message.

    Raises:
        ValueError: it would not come back equal.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise ValueError(f"{where}: {value} does not survive as a JSON number here; write it as a string")
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124 - the test for NaN
            raise ValueError(f"{where}: {value} is not a JSON number")
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(k, str) for k in value):
            raise ValueError(f"{where}: JSON objects have string keys")
        return {k: to_wire(v, where) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(v, where) for v in value]
    raise ValueError(f"{where}: {type(value).__name__} is not JSON")
