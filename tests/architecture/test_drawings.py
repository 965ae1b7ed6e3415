"""Pages show the tables as they are, and nothing that decides is missing from them."""

from __future__ import annotations

import re

from bridge.gossip.member import MOVES, News, State
from bridge.proposer import TRANSITIONS, Stage
from bridge.quorum import Refusal
from tests.architecture import candidate_table, gossip_table, proof_map
from tests.architecture.drawings import DRAWINGS, PAGES, drawn, names_in
from tests.architecture.sources import ROOT
from tests.model.catalogue import MUTATIONS as MODEL_MUTATIONS
from tests.simulation.checkers.all import PROMISES
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.mutation import OWN


def test_pages_show_what_the_tables_say() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert [drawn(text) for text in texts] == texts, "run make format, or python -m tests.architecture.drawings"
    assert sorted(name for text in texts for name in names_in(text)) == sorted(DRAWINGS)


def test_make_format_draws() -> None:
    assert "-m tests.architecture.drawings" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_a_candidates_life_has_every_stage_and_move() -> None:
    arrows = [line.split(": ")[0].strip() for line in candidate_table.life().splitlines() if " --> " in line]
    moves = {
        f"{stage} --> {after}" for stage, row in TRANSITIONS.items() for leads in row.values() for after in leads
    }
    assert {*arrows} == moves | {"[*] --> idle", "lost --> [*]"}
    assert [*candidate_table.said_of(Stage)] == [stage.name for stage in Stage]


def test_every_refusal_is_explained_and_said_by_some_rule() -> None:
    assert [*candidate_table.said_of(Refusal)] == [refusal.name for refusal in Refusal]
    named = set().union(*(candidate_table.refused_by(rule) for rule, _ in candidate_table.ANSWERS))
    assert named == {refusal.name for refusal in Refusal}


def test_a_members_states_and_all_that_moves_them_are_drawn() -> None:
    arrows = [line.strip() for line in gossip_table.standings().splitlines() if " --> " in line]
    moves = [f"{state} --> {after}: {news}" for state, row in MOVES.items() for news, after in row.items()]
    assert arrows[1:] == moves
    assert [*candidate_table.said_of(State)] == [state.name for state in State]
    assert [*candidate_table.said_of(News)] == [news.name for news in News]


def test_every_promise_and_every_broken_rule_is_on_the_map() -> None:
    drawing = proof_map.proof_map()
    assert all(f"[{promise.name}]" in drawing for promise in PROMISES)
    assert all(proof_map.flag_said(each.flag) in drawing for each in MODEL_MUTATIONS)
    assert {each.promise for each in MUTATIONS} <= {promise.name for promise in PROMISES} | {OWN}
    assert all(each.name in drawing for each in MUTATIONS)
    assert {*proof_map.SAME} <= {proof_map.file_of(promise) for promise in PROMISES}


def test_the_models_properties_are_those_that_the_map_knows() -> None:
    text = (ROOT / "tests" / "model" / "properties.pml").read_text(encoding="utf-8")
    properties = {*re.findall(r"^bool (\w+);$", text, re.MULTILINE)} - {"skipped"}
    assert {each for same in proof_map.SAME.values() for each in same} == properties - {"one_tip_is_two_journals"}
