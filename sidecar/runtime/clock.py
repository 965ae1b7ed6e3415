"""The host's clocks behind ``ports.Clock``."""

from __future__ import annotations

import time
from pathlib import Path


class HostClock:
    """Wall time for people, CLOCK_BOOTTIME for rules: it goes on while the host sleeps and never jumps.

    Attributes:
        boot: the host's boot id; readings of ``monotonic`` compare within one boot only.
    """

    def __init__(self) -> None:
        self.boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

    def wall_ms(self) -> int:
        """Milliseconds since 1970 UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds since the host booted."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
