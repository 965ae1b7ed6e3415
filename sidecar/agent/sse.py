"""Server-sent events from bytes: an incremental parser that cannot be made to grow or to be slow.

Lives here: finding events in chunks that end anywhere, by the WHATWG rules (LF, CR and CRLF, comments, a byte
order mark, fields that are split over several lines). The file must not know what the data is: JSON is the
caller's.

It prevents three faults that streams of other systems had: a line end split over two chunks counted twice (case
61), a comment taken for an event (58), and an endless line that is kept, or searched again with each chunk, until
the process dies (64). Every byte is looked at once; what is kept is at most one unfinished event below the limit.
"""

from __future__ import annotations

_BOM = b"\xef\xbb\xbf"
_CR = 13
_LF = 10


class SseParser:
    """Turns chunks of an event stream into the data of its events.

    Args:
        event_bytes_max: limit of one event's lines. Above it ``too_large`` is set and the stream cannot go on.

    Attributes:
        too_large: the limit was passed; events before that were still returned.
    """

    __slots__ = ("_data", "_data_bytes", "_fresh", "_limit", "_pending", "_pending_bytes", "_skip_lf", "too_large")

    def __init__(self, event_bytes_max: int) -> None:
        self.too_large = False
        self._limit = event_bytes_max
        self._pending: list[bytes] = []  # pieces of a line without its end
        self._pending_bytes = 0
        self._data: list[bytes] = []  # data lines of the event that is being read
        self._data_bytes = 0
        self._skip_lf = False  # the last chunk ended in CR: an LF that follows belongs to it
        self._fresh = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes.

        Returns:
            The data of each event that became complete, its lines joined by LF; never empty or blank data.
        """
        if self._skip_lf and chunk:
            self._skip_lf = False
            if chunk[0] == _LF:
                chunk = chunk[1:]
        cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not cut:
            self._keep(chunk)
            return []
        self._skip_lf = chunk[-1] == _CR
        block, rest = chunk[:cut], chunk[cut:]
        if self._pending:
            block = b"".join([*self._pending, block])
            self._pending.clear()
            self._pending_bytes = 0
        if self._fresh:
            self._fresh = False
            block = block.removeprefix(_BOM)
        events = self._lines(block)
        self._keep(rest)
        return events

    def finish(self) -> bytes:
        """The data of an event that the end of the stream cut off before its blank line, b"" if there is none.

        The rules say to drop it. Agents that forget the last blank line exist, so the caller may try it.
        """
        line = b"".join(self._pending)
        if self._fresh:
            line = line.removeprefix(_BOM)
        events = self._lines(line + b"\n\n")
        self._pending.clear()
        self._pending_bytes = 0
        return events[0] if events else b""

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pending.append(piece)
            self._pending_bytes += len(piece)
            if self._pending_bytes + self._data_bytes > self._limit:
                self._overflow()

    def _overflow(self) -> None:
        self.too_large = True
        self._pending.clear()
        self._data.clear()
        self._pending_bytes = self._data_bytes = 0

    def _lines(self, block: bytes) -> list[bytes]:
        """Whole lines: collect data fields, close an event at each blank line, ignore everything else."""
        events: list[bytes] = []
        data = self._data
        for line in block.splitlines():  # bytes: only LF, CR and CRLF, as the rules want
            if line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._data_bytes += len(line)
                if self._data_bytes > self._limit:
                    self._overflow()
                    break
            elif not line:
                if data:
                    payload = data[0] if len(data) == 1 else b"\n".join(data)
                    data.clear()
                    self._data_bytes = 0
                    if payload and not payload.isspace():
                        events.append(payload)
            elif line == b"data":
                data.append(b"")
                self._data_bytes += 1
        return events
