"""The host's own time: a clock that all of its processes share, and which boot it belongs to.

CLOCK_BOOTTIME never jumps and goes on while the host sleeps; it begins anew with each boot, so a time that is
stored is only comparable together with the boot id. The failure this prevents: a lease that a set-back wall
clock keeps alive, or one from before a reboot.
"""

from __future__ import annotations

import time
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def now_ms() -> int:
    """Milliseconds since the host booted, suspended time included."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def boot_id() -> str:
    """This boot of the host."""
    return _BOOT_ID.read_text(encoding="ascii").strip()
