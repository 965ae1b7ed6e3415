"""The checkers that judge runs, each against a story in which its promise is broken by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from bridge.a2a.extension import Marks
from bridge.a2a.shown import Shown
from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis
from bridge.jsontext import write
from tests.simulation.checkers.an_effect_has_one_receipt import AnEffectHasOneReceipt
from tests.simulation.checkers.promise import Broken
from tests.simulation.checkers.replacements_have_their_record import ReplacementsHaveTheirRecord
from tests.simulation.checkers.review_waits_for_an_operator import ReviewWaitsForAnOperator
from tests.simulation.checkers.runs_begin_after_the_claim import RunsBeginAfterTheClaim
from tests.simulation.checkers.the_cut_is_exact import TheCutIsExact
from tests.simulation.doers import Errand
from tests.simulation.exchange import Resumed, Told
from tests.simulation.hand import Hand
from tests.simulation.options import Options
from tests.simulation.world import World

Json = dict[str, Any]
TASK = "t0"
DONE = {"step": "e0", "key": "t0/e0", "phase": "done", "result": "t0/e0 was number 1"}
STATE = {
    "ids": {"p": "p"}, "made": {"p": {"parts": [{"text": "ab"}]}}, "told": [], "answers": [], "waiting": False,
    "effects": [], "whole": True, "number": 1,
}  # fmt: skip


class Owner:
    """As much of a hand as these checkers look at."""

    def __init__(self, *drafts: tuple[Kind, Json]) -> None:
        self.task, self.fence, self.lost = TASK, Fence(1, "a.1"), False
        self.log: list[Entry] = chain(
            genesis(TASK), self.fence, 0, [Draft(kind, write(body)) for kind, body in drafts]
        )

    @property
    def hand(self) -> Hand:
        return cast("Hand", self)


@pytest.fixture
def world() -> World:
    return World(0, Options())


def art(text: str, *, append: bool = False) -> Json:
    update: Json = {"artifact": {"artifactId": "p", "parts": [{"text": text}]}}
    return {"artifactUpdate": {**update, "append": True} if append else update}


def told(before: Sequence[str], after: Sequence[str], *, said: Sequence[list[str]] = ()) -> Told:
    was = {"p": [{"text": text} for text in before]} if before else {}
    now = {"p": [{"text": text} for text in after]}
    return Told({}, Marks(), was, now, [*said], len(said), whole=True)


def resumed(state: Json | None, *receipts: Json) -> Resumed:
    return Resumed(state, None, [*receipts])


def test_a_replacement_of_what_another_run_made_needs_its_record(world: World) -> None:
    shown, again = (Kind.EVENT, {"event": art("ab")}), (Kind.EVENT, {"event": art("ac")})
    checker = ReplacementsHaveTheirRecord(world)
    checker.took(Owner(shown, again).hand, told(["ab"], ["ac"]), 1)  # its own
    checker = ReplacementsHaveTheirRecord(world)
    checker.took(Owner(shown, (Kind.REWOUND, {"artifact": "p"}), again).hand, told([], ["ac"]), 1)
    checker = ReplacementsHaveTheirRecord(world)
    with pytest.raises(Broken, match="without a record"):
        checker.took(Owner(shown, again).hand, told([], ["ac"]), 1)
    checker = ReplacementsHaveTheirRecord(world)
    with pytest.raises(Broken, match="is called replaced, and is not"):
        checker.took(Owner(shown, (Kind.REWOUND, {"artifact": "q"}), again).hand, told([], ["ac"]), 1)


def test_what_was_shown_is_not_shown_again(world: World) -> None:
    shown, again = (Kind.EVENT, {"event": art("ab")}), (Kind.EVENT, {"event": art("ab", append=True)})
    with pytest.raises(Broken, match="the run made"):
        ReplacementsHaveTheirRecord(world).took(Owner(shown, again).hand, told(["a"], ["ab"]), 1)
    status = (Kind.EVENT, {"event": {"statusUpdate": {"status": said("s1")}}})
    with pytest.raises(Broken, match="a status is shown after"):
        ReplacementsHaveTheirRecord(world).took(Owner(status, status).hand, told([], []), 1)


def said(text: str) -> Json:
    return {"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "parts": [{"text": text}]}}


def step(state: Json, receipts: Sequence[Json] = ()) -> tuple[Kind, Json]:
    return Kind.STEP, {"state": state, "receipts": [*receipts], "position": {"same": True}}


def test_a_cut_that_covers_an_event_too_many_is_seen(world: World) -> None:
    checker = TheCutIsExact(world)
    checker.saved(1, STATE)
    exact = Owner((Kind.EVENT, {"event": art("ab")}), step(STATE))
    checker.begins(exact.hand, Shown.fold(exact.log), resumed(STATE))
    late = Owner((Kind.EVENT, {"event": art("ab")}), (Kind.EVENT, {"event": art("c", append=True)}), step(STATE))
    with pytest.raises(Broken, match="its run had made"):
        checker.begins(late.hand, Shown.fold(late.log), resumed(STATE))
    with pytest.raises(Broken, match="the last step is 1"):
        checker.begins(exact.hand, Shown.fold(exact.log), resumed(None))


def test_a_step_without_the_receipts_that_came_with_it_is_seen(world: World) -> None:
    checker = AnEffectHasOneReceipt(world)
    checker.tells(Marks({"number": 1}, (DONE,)))
    world.outside.done["t0/e0"] = 1
    whole = Owner(step(STATE, [DONE]))
    checker.committed(whole.hand, 1)
    for torn in (
        Owner(step(STATE), (Kind.STEP, {"receipts": [DONE]})),
        Owner((Kind.STEP, {"receipts": [DONE]}), step(STATE)),
    ):
        other = AnEffectHasOneReceipt(world)
        other.tells(Marks({"number": 1}, (DONE,)))
        with pytest.raises(Broken, match="it came with"):
            other.committed(torn.hand, 2)


def test_a_run_is_handed_what_its_cut_has_done_and_no_more(world: World) -> None:
    world.works[TASK].errand = Errand({}, "along", aware=True)
    checker = AnEffectHasOneReceipt(world)
    checker.tells(Marks({"number": 2}, (DONE,)))
    did = {**STATE, "effects": ["t0/e0"], "number": 2}
    owner = Owner(step(did, [DONE]))
    checker.begins(owner.hand, Shown(), resumed(did, DONE))
    with pytest.raises(Broken, match="no receipt is handed over"):
        checker.begins(owner.hand, Shown(), resumed(did))
    with pytest.raises(Broken, match="was told with checkpoint"):
        checker.begins(owner.hand, Shown(), resumed(STATE, DONE))


def test_an_effect_is_not_done_twice_nor_has_it_two_receipts(world: World) -> None:
    checker = AnEffectHasOneReceipt(world)
    checker.did("t0/e0", True, 1)
    checker.did("t0/e1", False, 2)
    with pytest.raises(Broken, match="is done 2 times"):
        checker.did("t0/e0", True, 2)
    world.outside.done["t0/e0"] = 1
    with pytest.raises(Broken, match="has the receipts"):
        checker.committed(Owner((Kind.STEP, {"receipts": [DONE, {**DONE, "result": "another"}]})).hand, 1)
    with pytest.raises(Broken, match="was never done"):
        checker.committed(Owner((Kind.STEP, {"receipts": [{**DONE, "key": "t0/e7"}]})).hand, 1)


REVIEW = (Kind.REVIEW, {"reason": "unknown_effect"})


@pytest.mark.parametrize(
    "reset", [(Kind.BOUND, {}), REVIEW, (Kind.FAILED, {}), (Kind.CANCELED, {}), (Kind.RESOLVED, {"by": "a"})]
)
def test_nothing_resets_a_review_but_its_operator(world: World, reset: tuple[Kind, Json]) -> None:
    with pytest.raises(Broken, match="ends the review"):
        ReviewWaitsForAnOperator(world).committed(Owner(REVIEW, (Kind.CLAIMED, {}), reset).hand, 3)


def test_a_review_ends_with_its_resolution_or_a_cancel(world: World) -> None:
    checker = ReviewWaitsForAnOperator(world)
    resolved = Owner(REVIEW, (Kind.RESOLVED, {"by": "operator"}))
    checker.committed(resolved.hand, 1)
    with pytest.raises(Broken, match="asks its agent to begin"):
        checker.requests(resolved.hand, "begin")
    checker.requests(resolved.hand, "cancel")
    checker.committed(resolved.hand, 2)
    checker.requests(resolved.hand, "begin")
    ReviewWaitsForAnOperator(world).committed(Owner(REVIEW, (Kind.CANCEL, {}), (Kind.CANCELED, {})).hand, 3)


def test_whoever_acts_on_what_no_disk_has_is_seen(world: World) -> None:
    dispatched = (Kind.DISPATCHED, {"voters": ["a", "b", "c"]})
    owner = Owner(dispatched, (Kind.CLAIMED, {}), (Kind.BOUND, {"fresh": True}))
    checker = RunsBeginAfterTheClaim(world)
    with pytest.raises(Broken, match="its claim is not committed"):
        checker.requests(owner.hand, "cancel")
    checker.books[owner.log[1].hash] = True
    checker.requests(owner.hand, "cancel")
    with pytest.raises(Broken, match="begins a run that nobody has recorded"):
        checker.requests(owner.hand, "begin")
    with pytest.raises(Broken, match="which nobody has recorded"):
        checker.requests(owner.hand, "do t0/e0")
