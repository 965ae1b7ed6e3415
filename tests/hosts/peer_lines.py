"""A line between two sidecars that is slow, changes a byte, goes silent, or is cut."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

PIECE = 16 << 10


class BadLine:
    """A TCP proxy on a free port of 127.0.0.1.

    Args:
        target: URL of what stands behind it.
        bytes_per_s: how fast it is in each direction, None for as fast as it goes.

    Attributes:
        url: where it listens.
        flip_at: change one bit of the byte at this position of what the dialling side sends.
        flipped: bits that were changed.
        silent: nothing passes, and nobody is told.
        made: connections that were made.
        carried: bytes from the dialling side.
        carried_now: of them, over the connection that was made last.
    """

    def __init__(self, target: str, *, bytes_per_s: float | None = None) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname or "", parts.port or 80)
        self._bytes_per_s = bytes_per_s
        self.url = ""
        self.flip_at: int | None = None
        self.silent = False
        self.made = self.flipped = self.carried = self.carried_now = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, PIECE)  # or loopback takes it all at once
        self._server = await asyncio.start_server(self._connected, sock=listener)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """Break what is connected."""
        for writer in list(self._open):
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.made += 1
        try:
            upstream, downstream = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            self._tasks.discard(task)
            return
        self._open |= {writer, downstream}
        await asyncio.gather(self._pump(reader, downstream, dialling=True), self._pump(upstream, writer))
        self._open -= {writer, downstream}
        self._tasks.discard(task)

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, dialling: bool = False
    ) -> None:
        seen = 0
        with suppress(OSError, RuntimeError):
            while piece := await source.read(PIECE):
                if self._bytes_per_s is not None:
                    await asyncio.sleep(len(piece) / self._bytes_per_s)
                if dialling:
                    piece = self._changed(piece, seen)
                    self.carried += len(piece)
                    self.carried_now = seen + len(piece)
                seen += len(piece)
                if not self.silent:
                    sink.write(piece)
                    await sink.drain()
        sink.transport.abort()

    def _changed(self, piece: bytes, seen: int) -> bytes:
        at = None if self.flip_at is None else self.flip_at - seen
        if at is None or not 0 <= at < len(piece):
            return piece
        self.flip_at = None
        self.flipped += 1
        return piece[:at] + bytes((piece[at] ^ 1,)) + piece[at + 1 :]
