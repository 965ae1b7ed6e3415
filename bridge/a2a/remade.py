"""One artifact in a re-run: what the run has made of it so far, and how that relates to what clients hold.

A re-run's artifact *repeats* what is shown until it has said all of it; then it is *live* and its chunks pass. One
that says something else has *diverged* and is held back until it can replace what is shown in one piece. This file
knows that relation for one artifact; which artifact it is and what gets shown is ``remaking``'s. The failure it
prevents: comparing everything again for every chunk.
"""

from __future__ import annotations

from typing import Any

from bridge.a2a.artifact import Artifact, same_head
from bridge.a2a.content import Match
from bridge.a2a.cut import CutArtifact
from bridge.a2a.shown import ShownArtifact

Json = dict[str, Any]


class Remade(Artifact):
    """An artifact as this run has made it.

    Attributes:
        public: its public id.
        agent: the running agent's id of it.
        live: it says what clients hold, and whatever comes next is news. Its content is the shown artifact's own.
        match: how far it repeats what is shown; None while its count says that it is still on an older version.
    """

    __slots__ = ("agent", "live", "match", "public")

    def __init__(self, public: str, agent: str, chunk: Json, *, last: bool, count: int = 0) -> None:
        super().__init__(chunk, last=last, count=count)
        self.public = public
        self.agent = agent
        self.live = False
        self.match: Match | None = None

    @classmethod
    def at_cut(cls, cut: CutArtifact, known: ShownArtifact) -> Remade:
        """The artifact as the run had it at the cut."""
        parts = cut.parts()
        made = cls(cut.public, cut.agent, {**cut.head, "parts": parts}, last=cut.closed, count=cut.count)
        made.catch_up(known, parts)
        if made.says(known) and made.count >= known.count:
            made.join(known)
        return made

    @classmethod
    def as_shown(cls, public: str, agent: str, known: ShownArtifact) -> Remade:
        """The artifact as clients hold it, where that is what the run has made."""
        made = cls(public, agent, known.head, last=known.closed, count=known.count)
        made.join(known)
        return made

    def catch_up(self, known: ShownArtifact, parts: list[Json], *, anew: bool = True) -> list[Json]:
        """Go on comparing.

        Args:
            known: what clients hold.
            parts: what has been added; all of the content where it begins anew.
            anew: the content begins with these parts.

        Returns:
            Parts that go beyond what is shown.
        """
        if anew:
            self.match = Match(known.content) if self.count >= known.count else None
        return [] if self.match is None else self.match.feed(parts)

    def join(self, known: ShownArtifact) -> None:
        """Clients hold this content: from here on it is one and the same object."""
        self.live = True
        self.content = known.content
        self.match = None

    @property
    def complete(self) -> bool:
        """It has said all that is shown, or more."""
        return self.match is not None and self.match.complete

    @property
    def presses(self) -> bool:
        """It has diverged and has waited long enough: it is longer than what is shown, or it is finished."""
        if self.match is None or not self.match.diverged:
            return False
        return self.closed or self.match.longer_by > 0

    def says(self, known: ShownArtifact) -> bool:
        """Whether clients hold exactly this: content, metadata, name."""
        return same_head(self.head, known.head) and (self.live or self.content.same(known.content))

    def whole(self) -> Json:
        """The artifact as one object with its public id."""
        return {"artifactId": self.public, **self.head, "parts": [*self.content.parts]}

    def item(self, known: ShownArtifact) -> Json:
        """Its part of a step's position (see ``cut``)."""
        item: Json = {"public": self.public, "count": self.count}
        if self.agent != self.public:
            item["agent"] = self.agent
        if not same_head(self.head, known.head):
            item["head"] = self.head
        if self.closed != known.closed:
            item["closed"] = self.closed
        if self.live:
            return item
        if self.match is not None and not self.match.diverged:
            item["place"] = [*self.match.place]
        elif self.match is not None or not self.content.same(known.content):
            item["parts"] = [*self.content.parts]
        return item
