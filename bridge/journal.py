"""The journal: entries, their hash chain, and the line format that an export carries.

Every handoff is one append-only chain of entries; everything else is a view of it. This file knows what an
entry is and when it follows from its predecessor. It must not know what an entry *means* (``handoff`` does)
or who may write it (``quorum`` does). The failure it prevents: a byte of history changing unnoticed.

A header covers the body only through ``body_hash``, so the body of a superseded checkpoint may be dropped and
the chain still verifies and ships. Bodies are hashed as the bytes that are stored: no value is re-written, and
so none can be changed by re-writing. Headers hold only integers and ASCII strings; their RFC 8785 form is
therefore a plain format string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

import orjson

from bridge.errors import BrokenChain


class Kind(StrEnum):
    """What an entry records. The last six are terminal: one per journal, the first committed wins."""

    DISPATCHED = "dispatched"
    ANSWERED = "answered"
    BOUND = "bound"
    CLAIMED = "claimed"
    INPUT = "input"
    EVENT = "event"
    STEP = "step"
    SPEND = "spend"
    SUSPENDED = "suspended"
    ORPHANED = "orphaned"
    REWOUND = "rewound"
    CANCEL = "cancel"
    PUSH = "push"
    REVIEW = "review"
    RESOLVED = "resolved"
    VOTERS = "voters"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"
    REPLY = "reply"
    EXPIRED = "expired"


TERMINAL: frozenset[Kind] = frozenset(
    {Kind.COMPLETED, Kind.FAILED, Kind.CANCELED, Kind.REJECTED, Kind.REPLY, Kind.EXPIRED}
)


class Fence(NamedTuple):
    """Whose writes count. ``n`` is the exposed token; ``session`` makes it unique.

    Attributes:
        n: grows with every claim of a handoff; never shared by two sessions of one handoff.
        session: boot nonce of the sidecar that claimed.
    """

    n: int
    session: str


NO_FENCE = Fence(0, "")


class Tip(NamedTuple):
    """Where a journal ends: the fence of its last *entry* (not of what was promised), its position, its hash."""

    fence: Fence
    seq: int
    hash: str


class Draft(NamedTuple):
    """What an owner wants to append: kind and body, before position and hash are known.

    Attributes:
        kind: the entry's kind.
        body: UTF-8 JSON object text, exactly the bytes that will be stored and hashed.
    """

    kind: Kind
    body: bytes


class Entry(NamedTuple):
    """One link of the chain.

    Attributes:
        seq: position, from 1, without gaps.
        fence: of the owner that wrote it; never smaller than its predecessor's.
        kind: what it records.
        at: milliseconds since 1970 UTC by the writer's clock. For people only: no rule reads it.
        body_hash: SHA-256 of ``body``, lower hex.
        prev: ``hash`` of the predecessor (``genesis`` for the first).
        hash: SHA-256 of the header in RFC 8785 form.
        body: JSON object text; None once dropped.
    """

    seq: int
    fence: Fence
    kind: Kind
    at: int
    body_hash: str
    prev: str
    hash: str
    body: bytes | None


def genesis(task_id: str) -> Tip:
    """The tip of an empty journal. It names the task, so a chain cannot be moved to another task."""
    return Tip(NO_FENCE, 0, sha256(b"dhp-journal:" + task_id.encode()).hexdigest())


def entry_hash(seq: int, fence: Fence, kind: str, at: int, body_hash: str, prev: str) -> str:
    """SHA-256 of the header ``{at, body_hash, fence: {n, session}, kind, prev, seq}`` in RFC 8785 form."""
    header = (
        f'{{"at":{at},"body_hash":"{body_hash}","fence":{{"n":{fence.n},"session":"{fence.session}"}},'
        f'"kind":"{kind}","prev":"{prev}","seq":{seq}}}'
    )
    return sha256(header.encode()).hexdigest()


def chain(tip: Tip, fence: Fence, at: int, drafts: Sequence[Draft]) -> list[Entry]:
    """Entries that continue a journal.

    Args:
        tip: where the journal ends now.
        fence: of the owner that appends.
        at: milliseconds since 1970 UTC.
        drafts: what to append, in order.

    Returns:
        As many entries as drafts, linked to ``tip`` and to each other.
    """
    entries: list[Entry] = []
    seq, prev = tip.seq, tip.hash
    for kind, body in drafts:
        seq += 1
        body_hash = sha256(body).hexdigest()
        digest = entry_hash(seq, fence, kind, at, body_hash, prev)
        entries.append(Entry(seq, fence, kind, at, body_hash, prev, digest, body))
        prev = digest
    return entries


def tip_of(task_id: str, entries: Sequence[Entry]) -> Tip:
    """The tip after these entries, without checking them."""
    if not entries:
        return genesis(task_id)
    last = entries[-1]
    return Tip(last.fence, last.seq, last.hash)


def check_link(tip: Tip, entry: Entry) -> Tip:
    """Check that one entry follows from ``tip``.

    Returns:
        The tip after the entry.

    Raises:
        BrokenChain: position, predecessor, fence order, body or header does not fit.
    """
    if entry.seq != tip.seq + 1:
        raise BrokenChain(entry.seq, f"follows entry {tip.seq}: an entry is missing or repeated")
    if entry.prev != tip.hash:
        raise BrokenChain(entry.seq, "its predecessor's hash is another one")
    if entry.fence < tip.fence:
        raise BrokenChain(entry.seq, f"fence {entry.fence.n} after fence {tip.fence.n}")
    if entry.body is not None and sha256(entry.body).hexdigest() != entry.body_hash:
        raise BrokenChain(entry.seq, "the body is not the one that was hashed")
    digest = entry_hash(entry.seq, entry.fence, entry.kind, entry.at, entry.body_hash, entry.prev)
    if digest != entry.hash:
        raise BrokenChain(entry.seq, "the header is not the one that was hashed")
    return Tip(entry.fence, entry.seq, entry.hash)


def verify(task_id: str, entries: Iterable[Entry]) -> Tip:
    """Walk a whole journal from its first entry.

    Raises:
        BrokenChain: at the first entry that does not follow.
    """
    tip = genesis(task_id)
    for entry in entries:
        tip = check_link(tip, entry)
    return tip


_BODY_MARK = b',"body":'
_LINE_MEMBERS = frozenset({"task", "seq", "fence", "kind", "at", "body_hash", "prev", "hash"})
_PLAIN = re.compile(r"[A-Za-z0-9._:-]*\Z")


def to_line(task_id: str, entry: Entry) -> bytes:
    """One line of an export, without the newline.

    ``body`` is the last member: its bytes as they stand are what ``body_hash`` covers. It is absent when dropped.
    """
    head = orjson.dumps(
        {
            "task": task_id,
            "seq": entry.seq,
            "fence": {"n": entry.fence.n, "session": entry.fence.session},
            "kind": entry.kind,
            "at": entry.at,
            "body_hash": entry.body_hash,
            "prev": entry.prev,
            "hash": entry.hash,
        }
    )
    if entry.body is None:
        return head
    return head[:-1] + _BODY_MARK + entry.body + b"}"


def from_line(line: bytes) -> tuple[str, Entry]:
    """Read one line of an export.

    Returns:
        The task id and the entry; its hashes are not checked here.

    Raises:
        BrokenChain: the line is not an entry (its ``seq`` is 0 where none could be read).
    """
    line = line.rstrip(b"\r\n")
    mark = line.find(_BODY_MARK)
    head, body = (line, None) if mark < 0 else (line[:mark] + b"}", line[mark + len(_BODY_MARK) : -1])
    try:
        if body is not None and not line.endswith(b"}"):
            raise ValueError("the line is cut off")
        fields = orjson.loads(head)
        if not isinstance(fields, dict) or fields.keys() != _LINE_MEMBERS:
            # A member that was renamed, `body` above all, must not read as one that was left out.
            raise ValueError("its members are not those of an entry")
        named = fields["fence"]
        if not isinstance(named, dict) or named.keys() != {"n", "session"}:
            raise ValueError("its fence is not {n, session}")
        fence = Fence(_whole(named["n"]), _plain(named["session"]))
        entry = Entry(
            _whole(fields["seq"]),
            fence,
            Kind(fields["kind"]),
            _whole(fields["at"]),
            _plain(fields["body_hash"]),
            _plain(fields["prev"]),
            _plain(fields["hash"]),
            body,
        )
        return _plain(fields["task"]), entry
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenChain(0, f"not a journal line ({error})") from None


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _plain(value: object) -> str:
    # Header strings go into a format string: nothing that would need JSON escapes may stand in them.
    if type(value) is not str or _PLAIN.match(value) is None:
        raise ValueError(f"{value!r} is not a plain name")
    return value
