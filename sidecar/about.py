"""What the log lines of this coroutine are about: task, fence and session.

Every layer logs through the standard library; whoever works for a task says so once, and ``ops.logs`` writes these
fields into every line that is logged meanwhile, in coroutines started meanwhile too. This file must not know how
lines look. The failure it prevents: a line about a takeover that does not say which one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_SUBJECT: ContextVar[Mapping[str, str | int]] = ContextVar("dhp_log_subject", default={})  # noqa: B039 - never changed


@contextmanager
def about(**fields: str | int) -> Iterator[None]:
    """Put fields (``task``, ``fence``, ``session``, …) on every line logged inside the block."""
    mark = _SUBJECT.set({**_SUBJECT.get(), **fields})
    try:
        yield
    finally:
        _SUBJECT.reset(mark)


def note(**fields: str | int) -> None:
    """Put fields on every line that this coroutine (and what it starts) logs from now on."""
    _SUBJECT.set({**_SUBJECT.get(), **fields})


def subject() -> Mapping[str, str | int]:
    """The fields that hold here."""
    return _SUBJECT.get()
