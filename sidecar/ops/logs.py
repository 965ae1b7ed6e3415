"""Log lines: JSON where a program reads them, coloured text where a person does.

Lines come from the standard library's loggers; fields come from ``extra=`` and from ``sidecar.about`` (task,
fence, session). This file must not know what is worth a line. The failures it prevents: a line about a task that
cannot be found by its id, a credential in a log, and a log line that fails and takes its caller with it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson

from sidecar.about import subject
from sidecar.sections import LogOptions

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_SECRET_NAME = re.compile(
    r"authorization|cookie|password|passwd|secret|credential|api[_-]?key|bearer|token\Z", re.IGNORECASE
)
_SECRET_TEXT = (
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), r"\1 [hidden]"),
    (re.compile(r"(://)[^/@\s:]*:[^/@\s]*@"), r"\1[hidden]@"),
    (
        re.compile(r"((?:api[_-]?key|token|secret|password)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;]+", re.IGNORECASE),
        r"\1[hidden]",
    ),
)
# Most lines hold none of this: one quick look instead of three.
_SUSPECT = re.compile(r"bearer|basic|:[^/@\s]*@|key|token|secret|password", re.IGNORECASE)
_FIRST = ("task", "fence", "session")
_COLOURS = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}
_QUIET = (
    "uvicorn",
    "uvicorn.error",
    "uvicorn.access",
    "httpx",
    "httpcore",
    "aiohttp.access",
    "alembic",
    "sqlalchemy.engine",
)


def configure(
    options: LogOptions, stream: TextIO | None = None, *, sidecar: str = "", session: str = ""
) -> logging.Handler:
    """Send every line of the process to one stream in one form; earlier handlers of the root are replaced.

    Args:
        options: form, least important level, colour.
        stream: standard error by default.
        sidecar: the sidecar's name, in every line.
        session: its boot nonce, in every line that does not say another.

    Returns:
        The handler, for tests and for a flush at the end.
    """
    out = sys.stderr if stream is None else stream
    always = {key: value for key, value in (("session", session), ("sidecar", sidecar)) if value}
    formatter: logging.Formatter
    if options.format == "json" or (options.format == "auto" and not out.isatty()):
        formatter = JsonLines(always)
    else:
        formatter = TextLines(colour=options.colour == "auto" and out.isatty())
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(options.level.upper())
    for each in _QUIET:
        logging.getLogger(each).setLevel(logging.WARNING)
    # Uvicorn's own handlers would write a second form.
    for each in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(each).handlers.clear()
        logging.getLogger(each).propagate = True
    logging.raiseExceptions = False
    return handler


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, message, the fields, and error where there is one."""

    def __init__(self, always: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._always = dict(always or {})

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON; a field that JSON cannot carry becomes its ``repr``."""
        line: dict[str, Any] = {
            "at": _when(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": hide(_message(record)),
            **self._always,
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = hide(self.formatException(record.exc_info))
        return _dumped(line).decode()


class TextLines(logging.Formatter):
    """One line for people: time, level, message, then the fields; a traceback below."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        """The record as text."""
        fields = "  ".join(f"{key}={_short(key, value)}" for key, value in fields_of(record).items())
        level = f"{record.levelname.lower():<7}"
        clock = f"{_when(record).astimezone():%H:%M:%S.%f}"[:-3]
        if self._colour:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
            clock, fields = f"\x1b[2m{clock}\x1b[0m", f"\x1b[2m{fields}\x1b[0m" if fields else ""
        line = f"{clock} {level} {_escaped(hide(_message(record)))}" + (f"  {fields}" if fields else "")
        if record.exc_info and record.exc_info[0] is not None:
            line += "\n" + hide(self.formatException(record.exc_info))
        return line


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The fields of a line: context first, the call's own over it, task, fence and session leading."""
    found = dict(subject())
    found.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
    leading = {key: found.pop(key) for key in _FIRST if key in found}
    return {key: _hidden(key, value) for key, value in {**leading, **found}.items()}


def hide(text: str) -> str:
    """The text without what looks like a credential."""
    if _SUSPECT.search(text) is None:
        return text
    for pattern, instead in _SECRET_TEXT:
        text = pattern.sub(instead, text)
    return text


def _hidden(key: str, value: Any) -> Any:
    if _SECRET_NAME.search(key):
        return "[hidden]"
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, Mapping):
        return {str(inner): _hidden(str(inner), item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden("", item) for item in value]
    return value


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - a wrong format string must not stop the work that it tells of
        return f"{record.msg!r} (cannot be formatted: {error})"


def _dumped(line: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(line, default=repr)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers beyond 64 bit are legal in Python, not in a log line.
        plain = {key: value if key in ("at", "level", "logger") else repr(value) for key, value in line.items()}
        return orjson.dumps(plain)


def _escaped(text: str) -> str:
    # An agent's text may hold control characters: it must not write lines of its own into the log.
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _short(key: str, value: Any) -> str:
    text = _escaped(str(value))
    return text[:8] if key in ("task", "session") else text


def _when(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
