"""What an artifact or a message says, whatever its chunks: the comparison that reconciliation rests on.

A re-run cuts its text at other places, so parts cannot be compared one by one. Content is a sequence of *runs*:
neighbouring text parts that agree in everything but their text are one run and their text is one string; any other
part is a run of its own and is compared whole. This file knows parts and nothing else. The failure it prevents: a
repeat taken for news because its chunks differ, or news taken for a repeat because it begins alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]

_PLAIN: Json = {}


class Run(NamedTuple):
    """One run of content.

    Attributes:
        rest: what the text parts of the run have beside their text; None for a part that is not text.
        text: the text of the run, "" for a part that is not text.
        part: the part itself where it is not text.
    """

    rest: Json | None
    text: str
    part: Json | None


class Place(NamedTuple):
    """A place in content: how many runs are begun, and how much text of the last of them is passed."""

    runs: int
    chars: int


START = Place(0, 0)


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: true and 1 are not, though Python says so; 1 and 1.0 are."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def text_of(part: Json) -> str | None:
    """The text of a text part, None for any other part."""
    text = part.get("text")
    return text if isinstance(text, str) else None


def rest_of(part: Json) -> Json:
    """What a text part has beside its text; null and empty members are the same as absent (ProtoJSON)."""
    if len(part) == 1:
        return _PLAIN
    return {name: value for name, value in part.items() if name != "text" and value not in (None, "", {}, [])}


def weight(parts: Iterable[Json]) -> int:
    """How long content is: its characters of text, and one for each other part."""
    return sum(1 if (text := text_of(part)) is None else len(text) for part in parts)


class Content:
    """Parts that only ever grow, with their runs made when they are first asked for.

    Appending costs nothing but the append, because the first run of a task, the hot path, never compares. Since
    content only grows (a replacement is a new object), whoever noted a length can still read what stood there.
    """

    __slots__ = ("_runs", "_taken", "parts")

    def __init__(self, parts: Iterable[Json] = ()) -> None:
        self.parts: list[Json] = [*parts]
        self._runs: list[Run] = []
        self._taken = 0

    def extend(self, parts: Iterable[Json]) -> None:
        """Append parts."""
        self.parts.extend(parts)

    def runs(self) -> Sequence[Run]:
        """The content as runs; empty plain text leaves no trace."""
        if self._taken == len(self.parts):
            return self._runs
        rest: Json | None = None
        pieces: list[str] = []
        if self._runs and self._runs[-1].rest is not None:
            rest, text, _ = self._runs.pop()
            pieces = [text]
        for part in self.parts[self._taken :]:
            said = text_of(part)
            own = None if said is None else rest_of(part)
            if not said and own == _PLAIN:
                continue
            if rest is None or own is None or not same_json(own, rest):
                self._close(rest, pieces)
                rest, pieces = own, []
            if said is None:
                self._runs.append(Run(None, "", part))
            else:
                pieces.append(said)
        self._close(rest, pieces)
        self._taken = len(self.parts)
        return self._runs

    def _close(self, rest: Json | None, pieces: list[str]) -> None:
        if rest is not None:
            self._runs.append(Run(rest, "".join(pieces), None))

    def before(self, place: Place) -> list[Json]:
        """Parts that say what stands before a place, one part a run."""
        runs = self.runs()[: place.runs]
        parts = [_as_part(run) for run in runs]
        if runs and runs[-1].rest is not None:
            parts[-1] = {**parts[-1], "text": runs[-1].text[: place.chars]}
        return parts

    def same(self, other: Content) -> bool:
        """Whether two contents say the same."""
        mine, theirs = self.runs(), other.runs()
        return len(mine) == len(theirs) and all(map(_same_run, mine, theirs))


def _as_part(run: Run) -> Json:
    return run.part or {} if run.rest is None else {**run.rest, "text": run.text}


def _same_run(one: Run, other: Run) -> bool:
    if one.rest is None or other.rest is None:
        return one.rest is None and other.rest is None and same_json(one.part, other.part)
    return one.text == other.text and same_json(one.rest, other.rest)


class Match:
    """How far new content repeats known content, part by part as it comes.

    Costs what the new part costs, not what was said before. The known content must not grow meanwhile.

    Attributes:
        place: how far the known content has been repeated.
        diverged: the new content says something else; nothing that follows can mend it.
        longer_by: weight of the new content beyond the known content's; negative while it is shorter.
    """

    __slots__ = ("_known", "diverged", "longer_by", "place")

    def __init__(self, known: Content) -> None:
        self._known = known.runs()
        self.longer_by = -sum(1 if run.rest is None else len(run.text) for run in self._known)
        self.place = START
        self.diverged = False

    @property
    def complete(self) -> bool:
        """All known content has been repeated: it is a prefix of the new content, or equal to it."""
        return not self.diverged and self.place.runs == len(self._known) and self._run_ended()

    def feed(self, parts: Sequence[Json]) -> list[Json]:
        """Go on with more of the new content.

        Returns:
            The part of it that goes beyond the known content, empty as long as it repeats or once it diverged.
        """
        self.longer_by += weight(parts)
        for index, part in enumerate(parts):
            beyond = self._advance(part)
            if self.diverged:
                break
            if beyond is not None:
                return [beyond, *parts[index + 1 :]]
        return []

    def _advance(self, part: Json) -> Json | None:
        text = text_of(part)
        if text is None:
            return self._new_run(part, None)
        rest = rest_of(part)
        if text == "" and not rest:
            return None
        if self.place.runs:
            run = self._known[self.place.runs - 1]
            if run.rest is not None and same_json(run.rest, rest):
                return self._more_text(part, text)
        return self._new_run(part, rest)

    def _new_run(self, part: Json, rest: Json | None) -> Json | None:
        if not self._run_ended():
            self.diverged = True
            return None
        if self.place.runs == len(self._known):
            return part
        run = self._known[self.place.runs]
        if not _same_run(run, Run(rest, run.text, part)):
            self.diverged = True
            return None
        self.place = Place(self.place.runs + 1, 0)
        return None if rest is None else self._more_text(part, part["text"])

    def _more_text(self, part: Json, text: str) -> Json | None:
        known = self._known[self.place.runs - 1].text
        at = self.place.chars
        repeated = text[: len(known) - at]
        if not known.startswith(repeated, at):
            self.diverged = True
            return None
        self.place = Place(self.place.runs, at + len(repeated))
        if len(repeated) == len(text):
            return None
        if self.place.runs < len(self._known):
            self.diverged = True
            return None
        return {**part, "text": text[len(repeated) :]}

    def _run_ended(self) -> bool:
        if self.place.runs == 0:
            return True
        run = self._known[self.place.runs - 1]
        return run.rest is None or self.place.chars == len(run.text)
