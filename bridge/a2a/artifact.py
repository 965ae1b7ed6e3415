"""One artifact as a fold of its chunks: what clients hold of it, or what a run has made of it so far.

The same rules as the Task fold's (``append`` adds parts and merges metadata, anything else replaces the whole),
plus what a Task does not say but reconciliation needs: how often it was replaced and whether its last chunk came.
This file must not know which of the two it folds for. The failure it prevents: two folds of one artifact that
drift apart because each had its own idea of a chunk.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.content import Content, same_json
from bridge.a2a.extension import URI

Json = dict[str, Any]

_CHUNK_MEMBERS = frozenset({"artifactId", "parts", "metadata", "name", "description", "extensions"})
_EMPTY: tuple[Any, ...] = (None, "", {}, [])


class Artifact:
    """An artifact that grows by chunks.

    Attributes:
        content: its parts. A replacement is a new object, so whoever holds the old one keeps the old content.
        head: everything of it but id and parts. Never changed in place.
        count: how often it has been replaced.
        closed: its last chunk has come.
    """

    __slots__ = ("closed", "content", "count", "head")

    def __init__(self, chunk: Json, *, last: bool, count: int = 0) -> None:
        self.count = count
        self.replace(chunk, last=last)

    def replace(self, chunk: Json, *, last: bool) -> None:
        """Become this chunk. The count is the caller's matter."""
        self.content = Content(chunk.get("parts") or ())
        self.retitle(chunk, last=last)

    def append(self, chunk: Json, *, last: bool) -> None:
        """Take one more chunk."""
        parts = chunk.get("parts")
        if parts:
            self.content.extend(parts)
        self.annotate(chunk, last=last)

    def retitle(self, chunk: Json, *, last: bool) -> None:
        """Take what a replacing chunk says besides its parts."""
        self.head = head_of(chunk)
        self.closed = last

    def annotate(self, chunk: Json, *, last: bool) -> None:
        """Take what an appended chunk says besides its parts."""
        if last:
            self.closed = True
        for name in chunk:
            if name == "metadata" or name not in _CHUNK_MEMBERS:
                self.head = extended_head(self.head, chunk)
                return


def head_of(artifact: Json) -> Json:
    """Everything of an artifact but its id and parts."""
    return {name: value for name, value in artifact.items() if name not in ("artifactId", "parts")}


def extended_head(head: Json, chunk: Json) -> Json:
    """A head after an appended chunk: metadata merged, name and description as they were."""
    extended = {**head, **{name: value for name, value in chunk.items() if name not in _CHUNK_MEMBERS}}
    metadata = chunk.get("metadata")
    if metadata:
        extended["metadata"] = {**(head.get("metadata") or {}), **metadata}
    return extended


def same_head(one: Json, other: Json) -> bool:
    """Whether two heads say the same.

    Null and empty members are the same as absent. Marks of the durability extension, which clients see that
    activated it, are about a run and do not count.
    """
    return same_json(_said(one), _said(other))


def changed_metadata(head: Json, known: Json) -> Json:
    """The metadata of ``head`` that ``known`` does not have, or has with another value."""
    mine, theirs = _unmarked(head), _unmarked(known)
    return {
        name: value for name, value in mine.items() if name not in theirs or not same_json(value, theirs[name])
    }


def _said(head: Json) -> Json:
    said = {name: value for name, value in head.items() if value not in _EMPTY}
    if "metadata" in said:
        said["metadata"] = _unmarked(head)
        if not said["metadata"]:
            del said["metadata"]
    return said


def _unmarked(head: Json) -> Json:
    return {name: value for name, value in (head.get("metadata") or {}).items() if not name.startswith(URI)}
