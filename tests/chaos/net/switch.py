"""A switch between hosts of its own making, which loses and delays frames as it is told: one way, both, or some.

Each host has a network namespace with one interface, and the other end of that is here. What the kernel of a test
machine may not offer (netem) is not needed, and what is lost is lost for good: no connection is reset, as with a
cable that was pulled. This file must not know what runs on the hosts.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import random
import struct
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME_BYTES = 65_536
ALL = b"\xff\xff\xff\xff\xff\xff"


class Way(NamedTuple):
    """What becomes of frames from one host to another.

    Attributes:
        loss: the part of them that is lost, 0 to 1.
        delay_s: how long each takes.
    """

    loss: float = 0.0
    delay_s: float = 0.0


CLEAR, CUT, SLOW = Way(), Way(loss=1.0), Way(loss=0.05, delay_s=0.1)
"""``SLOW`` both ways is 200 ms and 5 % of loss."""


class Switch:
    """All frames between the hosts pass here.

    Args:
        seed: of which frames are lost.

    Attributes:
        lost: how many frames were.
        passed: how many were not.
    """

    def __init__(self, seed: int) -> None:
        self.lost = self.passed = 0
        self._rng = random.Random(f"switch {seed}")
        self._files: dict[str, int] = {}
        self._at: dict[bytes, str] = {}
        self._ways: dict[tuple[str, str], Way] = {}

    def plug_in(self, host: str, interface: str) -> None:
        """Make an interface, whose other end is here; the host still has to take it into its namespace."""
        file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH", interface.encode(), IFF_TAP | IFF_NO_PI))
        self._files[host] = file
        asyncio.get_running_loop().add_reader(file, partial(self._readable, host, file))

    def set(self, sources: Iterable[str], targets: Iterable[str], way: Way) -> None:
        """What becomes of frames from each of these to each of those, from now on."""
        targets = list(targets)
        for source in sources:
            self._ways.update(((source, target), way) for target in targets if target != source)

    def close(self) -> None:
        """Pull everything."""
        for file in self._files.values():
            asyncio.get_running_loop().remove_reader(file)
            os.close(file)
        self._files.clear()

    def _readable(self, host: str, file: int) -> None:
        for _ in range(64):  # others have a turn in between
            try:
                frame = os.read(file, FRAME_BYTES)
            except OSError:
                return
            self._at[frame[6:12]] = host
            known = self._at.get(frame[:6])
            for target in [known] if known and frame[:6] != ALL else self._files:
                if target != host:
                    self._pass(frame, target, self._ways.get((host, target), CLEAR))

    def _pass(self, frame: bytes, target: str, way: Way) -> None:
        if way.loss and self._rng.random() < way.loss:
            self.lost += 1
            return
        self.passed += 1
        if way.delay_s:
            asyncio.get_running_loop().call_later(way.delay_s, self._write, target, frame)
        else:
            self._write(target, frame)

    def _write(self, target: str, frame: bytes) -> None:
        file = self._files.get(target)
        if file is not None:
            with suppress(OSError):  # its interface is down, or full: lost, as on any network
                os.write(file, frame)
