"""A run resumes where the run that made the checkpoint stood at that moment: no event more, none less.

The position that the journal gives for a checkpoint (content of each artifact, statuses, answers) is compared with
what the model agent had really told by then, which is kept beside every rule. Of statuses and questions only what
clients must be told is compared: a status without words leaves nothing behind, and a question that was answered by
replay need not be told again. Of a run that was missed in part the artifacts are not compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.journal import Kind
from bridge.jsontext import parse_stored
from tests.simulation.checkers.promise import Checker
from tests.unit.a2a.model_agents import said
from tests.unit.a2a.model_client import said_status

if TYPE_CHECKING:
    from bridge.a2a.cut import Cut
    from bridge.a2a.shown import Shown
    from tests.simulation.exchange import Resumed
    from tests.simulation.hand import Hand
    from tests.simulation.world import World

Json = dict[str, Any]
QUESTIONS = ("why", "how")


def worded(statuses: list[list[str]]) -> list[str]:
    """Progress that leaves something behind."""
    return [text for _, text in statuses if text and text not in QUESTIONS]


def told_all(shown: list[str], told: list[str], *, exactly: bool) -> bool:
    """Whether clients were told what a run said; where it was missed in part, what an earlier run said as well."""
    if exactly:
        return shown == told
    left = iter(shown)
    return all(each in left for each in told)


class TheCutIsExact(Checker):
    """What each checkpoint's run had told, by the checkpoint's number."""

    name = "the cut is exact"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[int, Json] = {}

    def saved(self, number: int, state: Json) -> None:
        self.books[number] = state

    def begins(self, hand: Hand, shown: Shown, resumed: Resumed) -> None:
        state = resumed.cut
        number = self._last_step(hand)
        if (0 if state is None else state["number"]) != number:
            raise self.broken(f"{hand.task}: resumes from {state and state['number']}, the last step is {number}")
        if state is not None:
            assert shown.cut is not None
            self._compare(hand.task, shown, shown.cut, self.books[number])

    def _last_step(self, hand: Hand) -> int:
        for entry in reversed(hand.log):
            if entry.kind is Kind.STEP and entry.body is not None:
                body = parse_stored(entry.body)
                if "state" in body:
                    return int(body["state"]["number"])
        return 0

    def _compare(self, task: str, shown: Shown, cut: Cut, made: Json) -> None:
        here = {each.agent: said(each.parts()) for each in cut.artifacts}
        there = {made["ids"][key]: said(each["parts"]) for key, each in made["made"].items()}
        if here != there and made["whole"]:
            raise self.broken(f"{task}: the cut has {here}, its run had made {there}")
        told = [said_status(status) for status in shown.statuses[: cut.status]]
        if not told_all(worded(told), worded(made["told"]), exactly=made["whole"]):
            raise self.broken(f"{task}: the cut has told {told}, its run had told {made['told']}")
        answers = [shown.questions[number].answer for number in cut.used if number != cut.pending]
        texts = [each["message"]["parts"][0]["text"] for each in answers if each is not None]
        if texts != made["answers"] or (cut.pending is not None) != made["waiting"]:
            raise self.broken(
                f"{task}: the cut has used {texts} and waits at {cut.pending}, its run {made['answers']}"
            )
