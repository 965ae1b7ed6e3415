"""The cut: where a run stood when its last checkpoint committed, as another run will start from it.

A run's own position is not what clients have been shown: a re-run that checkpoints while it still repeats, or
while it holds back a difference, stands somewhere else. The position is written into the step entry by the run and
read back here, at the entry's place in the journal, where "as shown" still means what the run meant by it. This
file must not know how a run reconciles. The failure it prevents: a third run that starts from the second run's
state but from the first run's output.

The position, as JSON::

    {"same": true, "pending"?: question}             a first run: it stands where its clients stand
    {"status": n, "used": [question…], "pending"?: question, "artifacts": [item…]}
    item = {"public", "count", "agent"?, "head"?, "closed"?} with at most one of
           {"place": [runs, chars]}    content is a prefix of what is shown
           {"parts": [part…]}          content is something else, held back
    absent: content, head and closed as shown, the agent's id is the public one

Question numbers count the questions in the order in which they were asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bridge.a2a.content import Content, Place

if TYPE_CHECKING:
    from bridge.a2a.shown import Shown

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class CutArtifact:
    """An artifact of the run at the cut.

    Attributes:
        public: public id.
        agent: the agent's id.
        count: how often the run had replaced it.
        head: everything of it but id and parts.
        closed: its last chunk had come.
        source: content that holds the run's as a prefix, for ever: contents only grow.
        take: how many parts of it, or up to which place.
    """

    public: str
    agent: str
    count: int
    head: Json
    closed: bool
    source: Content
    take: int | Place

    def parts(self) -> list[Json]:
        """The run's content."""
        if isinstance(self.take, Place):
            return self.source.before(self.take)
        return self.source.parts[: self.take]


@dataclass(frozen=True, slots=True)
class Cut:
    """The last step.

    Attributes:
        state: the agent's own.
        receipts: of the effects since the step before.
        status: how many of the uncut shown statuses the run had made.
        used: numbers of the questions that the run had asked or had had answered by replay.
        pending: number of the question that the run was waiting at.
        artifacts: what the run had made.
    """

    state: Any
    receipts: Sequence[Any]
    status: int
    used: tuple[int, ...]
    pending: int | None
    artifacts: tuple[CutArtifact, ...]


def read_cut(shown: Shown, state: Any, receipts: Sequence[Any], position: Json) -> Cut:
    """Read a step's position against what has been shown when it commits."""
    if position.get("same"):
        artifacts = tuple(
            CutArtifact(
                public, each.agents[-1], each.count, each.head, each.closed, each.content, len(each.content.parts)
            )
            for public, each in shown.artifacts.items()
        )
        used = tuple(range(len(shown.questions)))
        return Cut(state, receipts, len(shown.statuses), used, position.get("pending"), artifacts)
    artifacts = tuple(_read_item(shown, item) for item in position["artifacts"])
    return Cut(state, receipts, position["status"], tuple(position["used"]), position.get("pending"), artifacts)


def _read_item(shown: Shown, item: Json) -> CutArtifact:
    public = item["public"]
    known = shown.artifacts[public]
    source: Content = known.content
    take: int | Place = len(source.parts)
    if "place" in item:
        runs, chars = item["place"]
        take = Place(runs, chars)
    elif "parts" in item:
        source = Content(item["parts"])
        take = len(source.parts)
    return CutArtifact(
        public,
        str(item.get("agent", public)),
        item["count"],
        item.get("head", known.head),
        item.get("closed", known.closed),
        source,
        take,
    )
