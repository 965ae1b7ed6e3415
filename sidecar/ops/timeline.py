"""A journal as a person reads it: one line an entry, newest last, runs of output folded into one line.

Pure text from entries; this file must not know where they come from. What an agent or a client wrote is escaped:
the failure it prevents is a terminal that a task's text takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from bridge.a2a import dialect
from bridge.errors import BridgeError
from bridge.journal import TERMINAL, Entry, Kind
from bridge.jsontext import parse_stored

Body = dict[str, Any]
FOLD_FROM = 4
_TEXT_MAX = 60
_GREEN, _RED, _YELLOW, _CYAN, _DIM, _BOLD = "32", "31", "33", "36", "2", "1"
_COLOURS: dict[Kind, str] = {
    Kind.CLAIMED: _CYAN,
    Kind.BOUND: _CYAN,
    Kind.ORPHANED: _YELLOW,
    Kind.REWOUND: _YELLOW,
    Kind.CANCEL: _YELLOW,
    Kind.REVIEW: _RED,
    Kind.COMPLETED: _GREEN,
    Kind.REPLY: _GREEN,
    Kind.FAILED: _RED,
    Kind.REJECTED: _RED,
    Kind.EXPIRED: _RED,
    Kind.CANCELED: _YELLOW,
    Kind.STEP: _BOLD,
}


def paint(text: str, colour: str, *, on: bool) -> str:
    """The text in a colour of the terminal, or as it is."""
    return f"\x1b[{colour}m{text}\x1b[0m" if on and colour else text


def visible(text: str, longest: int = _TEXT_MAX) -> str:
    """One line of printable text, cut where it is long."""
    clean = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def clock(at_ms: int) -> str:
    """A moment in UTC, to the millisecond."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%H:%M:%S.%f}"[:-3]
    except (ValueError, OverflowError, OSError):
        return "?"


def day(at_ms: int) -> str:
    """A moment in UTC, to the second, with its date."""
    try:
        return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return "?"


def timeline(entries: Sequence[Entry], *, colour: bool = False, everything: bool = False) -> Iterator[str]:
    """The lines of a journal.

    Args:
        entries: in order.
        colour: use the terminal's colours.
        everything: one line for every entry; otherwise four or more outputs in a row share one.
    """
    runs = _runs(entries)
    for group in _groups(entries, everything=everything):
        first, last = group[0], group[-1]
        seq = f"{first.seq}" if first is last else f"{first.seq}-{last.seq}"
        took = f"{(last.at - first.at) / 1000:.1f} s"
        detail = (
            describe(first, runs.get(first.seq, 0))
            if first is last
            else f"{len(group)} events in {took}: {_artifacts(group)}"
        )
        kind = paint(f"{first.kind:<10}", _COLOURS.get(first.kind, ""), on=colour)
        moment = paint(clock(first.at), _DIM, on=colour)
        yield f"{seq:>11}  {moment}  {f'f{first.fence.n}':<4} {kind}  {detail}".rstrip()


def rows(entries: Sequence[Entry]) -> list[Body]:
    """All entries as objects for ``show --json``."""
    runs = _runs(entries)
    return [row(entry, runs.get(entry.seq, 0)) for entry in entries]


def _runs(entries: Iterable[Entry]) -> dict[int, int]:
    """By position of each ``claimed`` and ``bound``: how many runs the agents had been asked to begin."""
    runs, found = 0, {}
    for entry in entries:
        if entry.kind is Kind.BOUND and entry.body is not None:
            with suppress(BridgeError):
                runs += parse_stored(entry.body).get("fresh") is True
        if entry.kind in (Kind.BOUND, Kind.CLAIMED):
            found[entry.seq] = runs
    return found


def describe(entry: Entry, runs: int = 0) -> str:
    """What one entry says, in a few words.

    Args:
        entry: of a journal.
        runs: how many runs the agents had been asked to begin, this entry included; 0 where that is not known.
    """
    if entry.body is None:
        return "(its content was superseded and dropped)"
    try:
        body = parse_stored(entry.body)
        if entry.kind in _COUNTED:
            return _COUNTED[entry.kind](body, runs)
        return _DESCRIBE.get(entry.kind, _nothing)(body)
    except (BridgeError, AttributeError, TypeError, KeyError, ValueError):
        return "(its content cannot be read)"


def row(entry: Entry, runs: int = 0) -> Body:
    """One entry as an object for ``show --json``."""
    return {
        "seq": entry.seq,
        "at": day(entry.at)[:-1].replace(" ", "T") + f".{entry.at % 1000:03d}Z",
        "fence": {"n": entry.fence.n, "session": entry.fence.session},
        "kind": str(entry.kind),
        "says": describe(entry, runs),
        "hash": entry.hash,
    }


def _groups(entries: Sequence[Entry], *, everything: bool) -> Iterator[list[Entry]]:
    run: list[Entry] = []
    for entry in entries:
        foldable = entry.kind == Kind.EVENT and not everything
        if run and not (foldable and run[-1].fence == entry.fence):
            yield from _folded(run)
            run = []
        if foldable:
            run.append(entry)
        else:
            yield [entry]
    yield from _folded(run)


def _folded(run: list[Entry]) -> Iterator[list[Entry]]:
    if len(run) >= FOLD_FROM:
        yield run
    else:
        yield from ([entry] for entry in run)


def _artifacts(group: Iterable[Entry]) -> str:
    names: dict[str, int] = {}
    for entry in group:
        words = describe(entry).split(" ", 2)
        name = " ".join(words[:2]) if words[0] in ("artifact", "status") else words[0]
        names[name] = names.get(name, 0) + 1
    listed = [f"{name} x{count}" if count > 1 else name for name, count in names.items()]
    return ", ".join(listed[:4]) + (f" and {len(listed) - 4} more" if len(listed) > 4 else "")


def _dispatched(body: Body) -> str:
    key = body["key"]
    text = _parts((body["intent"]["inputs"].get("message") or {}).get("parts"))
    return f"handoff {body['handoff'][:12]}…  message {visible(key['messageId'], 40)}  {text}".rstrip()


def _claimed(body: Body, runs: int) -> str:
    so_far = f", {runs} {'run' if runs == 1 else 'runs'} so far" if runs else ""
    return f"by {visible(body['owner'])}: {visible(str(body.get('reason', '?')))}{so_far}"


def _bound(body: Body, runs: int) -> str:
    how = f"run {runs or ''}".rstrip() + (" begins" if body.get("fresh") else "")
    return f"{how} at {visible(str(body.get('endpoint')))} {visible(str(body.get('task') or ''), 40)}".rstrip()


def _event(body: Body) -> str:
    event = body["event"]
    kind = dialect.kind_of(event)
    inner = dialect.body_of(event)
    if kind == "artifactUpdate":
        artifact = inner["artifact"]
        name = visible(str(artifact.get("artifactId")), 40)
        more = " (append)" if inner.get("append") else ""
        return f"artifact {name}{more} {_parts(artifact.get('parts'))}".rstrip()
    if kind == "statusUpdate":
        return f"status {_status(inner.get('status') or {})}"
    if kind == "task":
        return f"task {_status(inner.get('status') or {})}"
    return f"{kind} {_parts(inner.get('parts'))}".rstrip()


def _status(status: Body) -> str:
    state = str(status.get("state", "?")).removeprefix("TASK_STATE_").lower().replace("_", "-")
    return f"{visible(state)} {_parts((status.get('message') or {}).get('parts'))}".rstrip()


def _parts(parts: Any) -> str:
    for part in parts or ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            return f"“{visible(part['text'])}”"
    return f"({len(parts)} parts without text)" if parts else ""


def _terminal(body: Body) -> str:
    said = [visible(str(body["reason"]))] if body.get("reason") else []
    if isinstance(body.get("event"), dict):
        said.append(_event(body))
    if isinstance(body.get("error"), dict):
        said.append(f"error {body['error'].get('code')}: {visible(str(body['error'].get('message')))}")
    return "  ".join(said)


def _step(body: Body) -> str:
    receipts = len(body.get("receipts") or ())
    if "state" not in body:
        return f"{receipts} receipts"
    return f"checkpoint {visible(str(body.get('state')))}" + (f", {receipts} receipts" if receipts else "")


def _nothing(body: Body) -> str:
    return "  ".join(f"{visible(str(key))}={visible(str(value), 40)}" for key, value in body.items())


_COUNTED: dict[Kind, Callable[[Body, int], str]] = {Kind.CLAIMED: _claimed, Kind.BOUND: _bound}
_DESCRIBE: dict[Kind, Callable[[Body], str]] = {
    Kind.DISPATCHED: _dispatched,
    Kind.EVENT: _event,
    Kind.STEP: _step,
    Kind.INPUT: lambda body: f"message {visible(body['id'], 40)}  {_parts(body['message'].get('parts'))}".rstrip(),
    **dict.fromkeys(TERMINAL, _terminal),
}
