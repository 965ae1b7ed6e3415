"""Clocks of hosts: each counts in its own way, and none of them is the world's.

The monotonic clock of a host drifts, and begins at zero after a power loss; its wall clock jumps. Rules get what
these say and nothing else. This file must not know what is done with a time. The failure it prevents: a rule that
holds only while all hosts agree what time it is.
"""

from __future__ import annotations

from tests.simulation.kernel import Kernel

WALL_BEGAN_MS = 1_700_000_000_000


class HostClock:
    """The two clocks of one host.

    Attributes:
        rate: monotonic milliseconds per millisecond of the world.
        boot: the host's boot id.
    """

    def __init__(self, kernel: Kernel, host: str, rate: float = 1.0) -> None:
        self.rate = rate
        self.boots = 1
        self._kernel, self._host = kernel, host
        self._since_us, self._at_ms = 0, 0.0
        self._wall_offset_ms = 0

    @property
    def boot(self) -> str:
        """Boot id, another one after each power loss."""
        return f"{self._host}#{self.boots}"

    def ms(self) -> int:
        """Monotonic milliseconds since the host's boot."""
        return int(self._at_ms + (self._kernel.now - self._since_us) * self.rate / 1_000)

    def wall_ms(self) -> int:
        """Milliseconds since 1970, as this host believes."""
        return WALL_BEGAN_MS + self._kernel.now // 1_000 + self._wall_offset_ms

    def jump(self, ms: int) -> None:
        """The wall clock is set."""
        self._wall_offset_ms += ms

    def stop(self, ms: int) -> None:
        """The monotonic clock stood still for so long: a machine that was frozen from outside."""
        self._at_ms -= min(ms * self.rate, self._at_ms + (self._kernel.now - self._since_us) * self.rate / 1_000)

    def reboot(self) -> None:
        """Monotonic time begins anew."""
        self.boots += 1
        self._since_us, self._at_ms = self._kernel.now, 0.0
