"""Wake-ups between the processes that share a store.

After a commit the committing process tells the others which tasks changed, by a datagram. A datagram may be lost:
while somebody here is interested (``watch``), a poll every 20 ms notices any commit of another process. This file
must not know what changed in a task. The failure it prevents: a client on one sidecar that sees another's events a
poll interval late, and idle processes that poll for nobody.

Where a process is reached: ``wakeaddress``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.store.changes import Changes
from sidecar.store.wakeaddress import Mailbox

POLL_S = 0.02
TELL_EVERY_S = 0.005
DATAGRAM_BYTES_MAX = 8192
_GREETING, _URGENT = "+", "!"

OnChange = Callable[[frozenset[str] | None, bool], None]
"""Called in the event loop with the tasks that changed (None: any may have), and whether somebody has to act: a
handoff was given up, or something waits in an inbox."""


class Wake:
    """Sends and receives change notices.

    Args:
        directory: where all processes of the store are reached; made if missing.

    Attributes:
        address: where others reach this process.
        look: asks the writer to look for commits of other processes; set once there is a writer.
    """

    def __init__(self, directory: Path) -> None:
        self.look: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._listeners: list[OnChange] = []
        self._watchers = 0
        self._poll: asyncio.TimerHandle | None = None
        self._peers: tuple[str, ...] = ()
        self._untold: dict[str, None] = {}
        self._urgent = False
        self._told_at = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._mailbox = Mailbox(directory)
        self.address = self._mailbox.address
        self._loop.add_reader(self._mailbox.fileno(), self._receive)

    def on_change(self, listener: OnChange) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Hold the poll that notices other processes' commits even where a datagram was lost."""
        self._watchers += 1
        if self._poll is None:
            self._poll = self._loop.call_later(POLL_S, self._tick)
        try:
            yield
        finally:
            self._watchers -= 1

    def set_peers(self, addresses: Iterable[str]) -> None:
        """Who is to be told; greets the new ones, so that they know of this process at once."""
        wanted = tuple(sorted({address for address in addresses if address and address != self.address}))
        for address in wanted:
            if address not in self._peers:
                self._mailbox.send(address, (_GREETING + self.address).encode())
        self._peers = wanted

    def committed(self, changes: Changes) -> None:
        """This process committed something, or found that others have."""
        if changes.foreign or changes.moved:
            moved = None if changes.foreign else frozenset(changes.moved)
            self._tell_listeners(moved, bool(changes.moved) and changes.urgent)
        if self._peers and changes.tasks:
            self._untold.update(dict.fromkeys(changes.tasks))
            self._urgent |= changes.urgent
            wait = self._told_at + TELL_EVERY_S - time.monotonic()
            if wait <= 0 or changes.urgent:
                self._tell_peers()
            elif self._later is None:
                self._later = self._loop.call_later(wait, self._tell_peers)

    def told(self, tasks: frozenset[str]) -> None:
        """Somebody else knows of a change, of tasks that this store does not keep."""
        self._tell_listeners(tasks, False)

    def close(self) -> None:
        """Stop; nobody is told any more."""
        self._loop.remove_reader(self._mailbox.fileno())
        self._mailbox.close()
        self._peers = ()
        for timer in (self._poll, self._later):
            if timer is not None:
                timer.cancel()

    def _tell_peers(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        mark = _URGENT if self._urgent else ""
        message = (mark + "\n".join(self._untold)).encode()
        if len(message) > DATAGRAM_BYTES_MAX:
            message = mark.encode()
        self._urgent = False
        self._untold.clear()
        self._told_at = time.monotonic()
        for address in self._peers:
            self._mailbox.send(address, message)

    def _receive(self) -> None:
        changed: set[str] = set()
        anything = urgent = False
        while (message := self._mailbox.take(DATAGRAM_BYTES_MAX)) is not None:
            text = message.decode("utf-8", "replace")
            if text.startswith(_GREETING):
                self._peers = tuple(sorted({*self._peers, text[1:]}))
                continue
            urgent |= text.startswith(_URGENT)
            text = text.removeprefix(_URGENT)
            if text:
                changed.update(text.split("\n"))
            else:
                anything = True
        if anything:
            self._tell_listeners(None, urgent)
        elif changed:
            self._tell_listeners(frozenset(changed), urgent)

    def _tick(self) -> None:
        self._poll = None
        if self._watchers:
            self.look()
            self._poll = self._loop.call_later(POLL_S, self._tick)

    def _tell_listeners(self, tasks: frozenset[str] | None, urgent: bool) -> None:
        for listener in self._listeners:
            listener(tasks, urgent)
