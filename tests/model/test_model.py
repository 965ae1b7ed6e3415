"""What fits into a suite: the two smallest models as a whole, and broken rules that show at once.

The rest is `python -m tests.model` and `python -m tests.model --mutations`; README.md has their numbers.
"""

from __future__ import annotations

import pytest

from tests.model.catalogue import MODELS, MUTATIONS, PAIR, SMALL, Model, Mutation
from tests.model.trail import journal, readable
from tests.model.verifier import CYCLE, missing, result, search

needs_spin = pytest.mark.skipif(bool(missing()), reason=missing() or "spin is here")
AT_ONCE = {
    "M_GRANT_DOES_NOT_RAISE_PROMISED",
    "M_ONE_N_FOR_TWO_SESSIONS",
    "M_CUT_WITHOUT_A_DIFFERENCE",
    "M_SKIPPED_ENTRIES_ARE_NOT_COUNTED",
    "M_A_TIP_IS_AN_ACKNOWLEDGEMENT",
    "M_A_COMMITS_ALONE_WHILE_B_IS_AWAY",
}
SEARCHED = """
(Spin Version 6.5.2 -- 6 December 2019)
	non-progress cycles 	+ (fairness disabled)
State-vector 148 byte, depth reached 141, errors: 0
    83417 states, stored
   999560 transitions (= stored+matched)
   46.000	total actual memory usage
pan: elapsed time 0.9 seconds
"""


@needs_spin
@pytest.mark.parametrize("model", [SMALL, PAIR], ids=lambda model: model.name)
def test_the_rules_hold_in_every_state(model: Model) -> None:
    found = search(model)
    assert found.broken == ""
    assert found.exhaustive
    assert found.states > 10_000


@needs_spin
@pytest.mark.parametrize(
    "mutation", [each for each in MUTATIONS if each.flag in AT_ONCE], ids=lambda mutation: mutation.flag
)
def test_a_broken_rule_is_caught(mutation: Mutation) -> None:
    found = search(mutation.model, mutation.flag)
    assert found.broken == mutation.breaks
    assert not found.exhaustive


@needs_spin
def test_a_trail_tells_what_every_voter_holds() -> None:
    found = search(SMALL, "M_CUT_WITHOUT_A_DIFFERENCE", ordered=False, shortest=True)
    told = list(readable(found.trail))
    assert told[0].startswith("  1. ")
    assert any("voter 0  promised 1" in line and "1:claimed" in line for line in told)


def test_every_mutation_is_asked_for_in_a_model_that_is_searched() -> None:
    assert {mutation.model for mutation in MUTATIONS} <= set(MODELS)
    assert len({mutation.flag for mutation in MUTATIONS}) >= 10
    assert {mutation.flag for mutation in MUTATIONS} >= AT_ONCE


@pytest.mark.parametrize(
    "fault",
    [
        "error: max search depth too small",
        "Warning: Search not completed",
        "pan: reached -DMEMLIM bound",
        "pan: out of memory",
    ],
)
def test_a_search_that_did_not_see_everything_is_not_one_that_found_nothing(fault: str) -> None:
    assert result(SEARCHED, "").exhaustive
    assert not result(f"{fault}\n{SEARCHED}", "").exhaustive
    assert not result("", "").exhaustive


def test_a_fault_is_named_for_the_property_that_broke() -> None:
    broken = SEARCHED.replace("errors: 0", "errors: 1")
    named = "pan:1: assertion violated  !(two_sessions_own_one_n) (at depth 78)\n"
    assert result(named + broken, "").broken == "two_sessions_own_one_n"
    assert result("pan:1: non-progress cycle (at depth 9)\n" + broken, "").broken == CYCLE
    assert result("pan:1: invalid end state (at depth 9)\n" + broken, "").broken == "invalid end state"


def test_a_journal_is_read_entry_by_entry() -> None:
    assert journal(4 + (5 << 5) + (8 << 10)) == "1:claimed 1:event 2:claimed"
    assert journal(0) == "empty"
