"""Something that stays wrong for a while, as the log is told of it: once, at a change, now and then, and the end.

This file must not know what is wrong, nor read a clock. The failures it prevents: a log that repeats one sentence
every second until nobody reads it, and one that says that something broke and never that it is mended.
"""

from __future__ import annotations

AGAIN_S = 60.0
CHANGES_S = 5.0
"""Between two lines at least, however often what is wrong changes."""


class Trouble:
    """One thing that can be wrong. Times are seconds of any one clock.

    Args:
        after_s: what is over sooner is not told at all.
        again_s: what goes on unchanged is told again after so long.
    """

    def __init__(self, after_s: float = 0.0, again_s: float = AGAIN_S) -> None:
        self._after_s, self._again_s = after_s, again_s
        self._since: float | None = None
        self._told_at: float | None = None
        self._told = ""

    def wrong(self, what: str, now: float) -> float | None:
        """It is wrong, in this way.

        Returns:
            For how long already, if a line is due; None if it is not.
        """
        if self._since is None:
            self._since = now
        if now - self._since < self._after_s:
            return None
        if self._told_at is not None:
            pause = CHANGES_S if what != self._told else self._again_s
            if now - self._told_at < pause:
                return None
        self._told_at, self._told = now, what
        return now - self._since

    def over(self, now: float) -> float | None:
        """It is not wrong.

        Returns:
            For how long it was, if somebody was told and is to hear that it is over; else None.
        """
        since, told = self._since, self._told_at is not None
        self._since = self._told_at = None
        return now - since if since is not None and told else None
