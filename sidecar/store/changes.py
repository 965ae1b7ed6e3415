"""What others may want to know of a commit: other processes of the store, and followers in this one.

The failure it prevents: a client that follows a task here and hears nothing, because the entries came from a peer
and not from an owner in this process.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Changes:
    """What happened since others were told last.

    Attributes:
        tasks: those that were written to.
        moved: those of them in which a peer's word moved what is committed, or gave the handoff up: nobody in this
            process knows that yet.
        foreign: other processes have committed.
        urgent: somebody has to act: a handoff was given up, or something waits in an inbox.
    """

    tasks: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    foreign: bool = False
    urgent: bool = False
