"""``proposer.TRANSITIONS`` is what candidates really live through: every move that it names, and no other."""

import random

import pytest

from bridge.proposal import (
    AppendAnswered,
    Began,
    ClaimAnswered,
    Elapsed,
    Event,
    PrefixRead,
    PreVoted,
)
from bridge.proposer import TRANSITIONS, Proposer, Stage
from bridge.quorum import Refusal
from tests.unit.quorum_world import World
from tests.unit.test_proposer import ABC, CLAIMED, FENCE, OLD, OLD_TIP, TASK, ack, at, no, yes

Move = tuple[Stage, type[Event], Stage]

NAMED = {(stage, news, after) for stage, row in TRANSITIONS.items() for news in row for after in row[news]}


class Recorded(World):
    """A world that keeps every move of its candidates."""

    moves: set[Move]

    def tell(self, candidate: Proposer, event: Event) -> None:
        before = candidate.stage
        effects = candidate.handle(event)
        if candidate.stage is not before:
            self.moves.add((before, type(event), candidate.stage))
        elif type(event) not in TRANSITIONS[before]:
            assert effects == []
        for effect in effects:
            self.carry_out(candidate, effect)


def moves_of(seed: int) -> set[Move]:
    rng, world = random.Random(seed), Recorded(ABC)
    world.moves = set()
    sets = (ABC, ("a", "d", "e"), ("b",), ("c", "d"))
    for action in rng.choices(range(9), weights=[1, 2, 3, 2, 0.5, 1, 14, 14, 14], k=400):
        pick = rng.randrange(1_000)
        owners = [each for each in world.candidates if each.stage is Stage.OWNING and not each.changing]
        if action == 2 and pick % 3 == 0 and owners:
            world.change(owners[0], *sets[pick % len(sets)])
        world.choose(action, pick)
    return world.moves


def read_from_voters_that_lost_it() -> set[Move]:
    proposer = at(Stage.READING)
    for voter in "ab":
        proposer.handle(PrefixRead(voter, OLD_TIP, None))
    return {(Stage.READING, PrefixRead, proposer.stage)}


def test_candidates_make_every_move_that_the_table_names_and_no_other() -> None:
    moves = read_from_voters_that_lost_it().union(*map(moves_of, range(40)))
    assert moves == NAMED


ANYTHING: list[Event] = [
    Began(),
    PreVoted("a", FENCE, yes()),
    ClaimAnswered("a", FENCE, yes()),
    PrefixRead("a", OLD_TIP, tuple(OLD)),
    CLAIMED,
    AppendAnswered("a", FENCE, no(Refusal.GAP)),
    Elapsed(),
]


@pytest.mark.parametrize("event", ANYTHING, ids=lambda event: type(event).__name__)
def test_what_is_no_news_in_a_stage_changes_nothing(event: Event) -> None:
    idle, lost = Proposer(TASK, FENCE, (ABC,)), at(Stage.ASKING)
    lost.handle(PreVoted("a", FENCE, no(Refusal.PURGED)))
    owning = at(Stage.OPENING)
    ack(owning, "a", 4)
    ack(owning, "b", 4)
    middle = (Stage.ASKING, Stage.CLAIMING, Stage.READING, Stage.ADOPTED, Stage.OPENING)
    candidates = [idle, *map(at, middle), owning, lost]
    assert [each.stage for each in candidates] == [*Stage]
    for each in candidates:
        stage = each.stage
        if type(event) not in TRANSITIONS[stage]:
            assert each.handle(event) == []
            assert (each.stage, each.committed) == (stage, 4 if stage is Stage.OWNING else 0)
