"""Hearing of a process's death from the kernel instead of from a timer.

A session holds a lock on a file for as long as its process lives. Here a thread for each other session waits for
that lock; the moment the kernel frees it, whoever listens is told, and can look at the facts. This file must not
know what a death means. The failure it prevents: a takeover that waits for the next look at the clock.

The threads sleep in flock(2) and are daemons: nothing wakes them but a death, and they never keep a process.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

OnDeath = Callable[[], None]
"""Called in the event loop when a session's lock was freed."""


class DeathWatch:
    """Waits for the locks of sessions.

    Args:
        wait: blocks until no process holds a session's lock; an OSError says that nobody can tell.
    """

    def __init__(self, wait: Callable[[str], None]) -> None:
        self._wait = wait
        self._loop = asyncio.get_running_loop()
        self._watched: set[str] = set()
        self._listeners: list[OnDeath] = []

    def on_death(self, listener: OnDeath) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def watch(self, sessions: Iterable[str]) -> None:
        """Watch these sessions as well; each is told of once."""
        for session in sessions:
            if session not in self._watched:
                self._watched.add(session)
                name = f"death-of-{session[:8]}"
                threading.Thread(target=self._watch, args=(session,), name=name, daemon=True).start()

    def _watch(self, session: str) -> None:
        freed = False
        with suppress(OSError):
            self._wait(session)
            freed = True
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            self._loop.call_soon_threadsafe(self._over, session, freed)

    def _over(self, session: str, freed: bool) -> None:
        self._watched.discard(session)  # watched again by the next look, if it still counts as alive then
        for listener in self._listeners if freed else ():
            listener()
