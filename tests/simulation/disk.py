"""A voter's disk: what was written is not yet durable, and what was durable can be lost.

Writes gather until a sync; a sync takes time and is all or nothing. A crash loses what was written since the last
one, and of a sync under way nobody knows. A disk may stand still, come back empty, or come back as it was long
ago; then it has another identity, because a voter that has forgotten its promises is another voter. This file must
not know what is stored. The failure it prevents: an answer that was given for something no disk had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bridge.journal import TERMINAL, Entry
from bridge.quorum import VoterView
from bridge.voterid import VoterFile, recognised
from tests.simulation.kernel import Kernel, Process


class Stored(NamedTuple):
    """One journal at a voter.

    Attributes:
        view: what the rules keep.
        entries: the journal.
        released: its last owner gave it up.
    """

    view: VoterView
    entries: tuple[Entry, ...] = ()
    released: bool = False

    def hash_at(self, seq: int) -> str | None:
        """Hash of the entry at a position."""
        return self.entries[seq - 1].hash if 1 <= seq <= len(self.entries) else None

    @property
    def end(self) -> int:
        """Position of the terminal, 0 without one."""
        return next((each.seq for each in reversed(self.entries) if each.kind in TERMINAL), 0)


Answer = Callable[[], None]


class Disk:
    """The disk below one voter.

    Attributes:
        file: which voter it says that it is.
        written: journals as the process sees them.
        synced: journals as they survive a crash.
        copy: as they were when somebody made a copy.
        dead: nothing is synced any more.
        lost: how often it came back with less than it had.
        graves: what was durable under each identity that is lost.
    """

    def __init__(self, kernel: Kernel, process: Process, identity: str) -> None:
        self.file = VoterFile(identity, process.name)
        self.written: dict[str, Stored] = {}
        self.synced: dict[str, Stored] = {}
        self.copy: dict[str, Stored] = {}
        self.dead = False
        self.lost = 0
        self.graves: dict[str, dict[str, Stored]] = {}
        self.on_synced: Callable[[str, Stored], None] | None = None
        self._kernel, self._process = kernel, process
        self._dirty: dict[str, bool] = {}
        self._waiting: list[Answer] = []
        self._syncing: dict[str, Stored] | None = None
        self._label = f"{process.name} synced"

    @property
    def identity(self) -> str:
        """The voter's id, in its file."""
        return self.file.id

    def write(self, task: str, stored: Stored) -> None:
        """Written, not yet durable."""
        self.written[task] = stored
        self._dirty[task] = True

    def when_durable(self, answer: Answer) -> None:
        """Do this once all that was written before is durable."""
        if not self._dirty and self._syncing is None:
            answer()
            return
        self._waiting.append(answer)
        if self._syncing is None:
            self._begin()

    def _begin(self) -> None:
        if self.dead:
            return
        self._syncing = {task: self.written[task] for task in self._dirty}
        answers, self._waiting, self._dirty = self._waiting, [], {}
        delay = 100 + int(self._kernel.rng.random() * 900)
        self._kernel.after(delay, self._process, self._label, self._synced, answers)

    def _synced(self, answers: list[Answer]) -> None:
        assert self._syncing is not None
        if self.dead:
            # What stood still with the disk is written when it goes on.
            self._waiting = answers + self._waiting
            self._dirty = {**dict.fromkeys(self._syncing, True), **self._dirty}
            self._syncing = None
            return
        syncing, self._syncing = self._syncing, None
        self._store(syncing)
        for answer in answers:
            answer()
        if self._waiting or self._dirty:
            self._begin()

    def _store(self, journals: dict[str, Stored]) -> None:
        self.synced.update(journals)
        if self.on_synced is not None:
            for task, stored in journals.items():
                self.on_synced(task, stored)

    def go_on(self) -> None:
        """A disk that stood still works again."""
        self.dead = False
        if self._syncing is None and (self._waiting or self._dirty):
            self._begin()

    def crash(self) -> None:
        """The process above it has ended."""
        if self._syncing is not None and not self.dead and self._kernel.rng.random() < 0.5:
            self._kernel.fired["written but not answered"] += 1
            self._store(self._syncing)
        elif self._dirty or self._syncing is not None:
            self._kernel.fired["unsynced write lost"] += 1
        self.written = dict(self.synced)
        self._dirty, self._waiting, self._syncing = {}, [], None

    def keep_copy(self) -> None:
        """Somebody makes a copy of the file."""
        self.copy = dict(self.synced)

    def replace(self, fresh_id: str, *, empty: bool) -> None:
        """It comes back empty or as the copy, under another identity. Only while its process is down."""
        self.graves[self.identity] = self.synced
        self.file = recognised(None if empty else self.file, self._process.name, fresh_id, restored=not empty)
        self.lost += 1
        self.synced = {} if empty else dict(self.copy)
        self.written = dict(self.synced)
        self.dead = False
