"""What an owner and an agent say to each other, as values.

Beside what is said stands the truth about it, which only checkers look at. This file must not know who says it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bridge.a2a.extension import Marks

Json = dict[str, Any]


class Told(NamedTuple):
    """What a run says at once, and the truth about it, which only checkers look at.

    Attributes:
        event: StreamResponse.
        marks: what the durability extension says with it.
        made_before, made: content of each artifact before and after it, by the agent's id.
        said: all statuses of the run; of which it had said the first ``said_before`` before it.
        whole: nothing that it told was missed. A Task makes up for what was, but for a replacement that begins
            like what it replaced: that looks like an older Task (a documented limit).
    """

    event: Json
    marks: Marks
    made_before: dict[str, list[Json]]
    made: dict[str, list[Json]]
    said: list[list[str]]
    said_before: int
    whole: bool


class Resumed(NamedTuple):
    """What a run is given at its start.

    Attributes:
        cut: state of the last checkpoint, None to begin at the beginning.
        owed: the answer to the question at which that was made.
        effects: marks of earlier runs.
    """

    cut: Json | None
    owed: Json | None
    effects: list[Json]


class Heard(NamedTuple):
    """What a sidecar hears of a run.

    Attributes:
        begun: the agent's task id.
        snapshot: the agent's Task, None where it has forgotten the run.
        event: an event with what it carries.
        ended: the stream ended; False where it broke.
        refused: nobody is there.
    """

    begun: Callable[[str], None]
    snapshot: Callable[[Json | None], None]
    event: Callable[[Told], None]
    ended: Callable[[bool], None]
    refused: Callable[[], None]
