"""The mutations still break what they name, promises see them, and a broken rule never goes unnoticed for ever."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.simulation.checkers.all import PROMISES
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.engine import broken, control
from tests.simulation.mutations.mutation import OWN, Edit, Mutation
from tests.simulation.mutations.patch import Moved, changed

#: A few that are seen at once; ``make mutations`` breaks all of them.
QUICK = (
    "append does not raise promised",
    "committed going backwards",
    "a voter answers before its disk write",
    "a living holder does not stand in the way",
    "a stream begins anew behind what was seen",
)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_that_a_mutation_changes_stands_there_once(mutation: Mutation) -> None:
    for module, text in changed(mutation.edits).items():
        compile(text, module, "exec")


def test_a_rule_that_has_moved_is_noticed() -> None:
    with pytest.raises(Moved, match="0 times"):
        changed([Edit("bridge.quorum", "no such text", "")])
    with pytest.raises(Moved, match="and not once"):
        changed([Edit("bridge.quorum", "promised", "")])


def test_names_are_unique_and_every_promise_has_something_that_it_must_catch() -> None:
    assert not [name for name, times in Counter(each.name for each in MUTATIONS).items() if times > 1]
    named = {mutation.promise for mutation in MUTATIONS} - {OWN}
    assert named == {promise.name for promise in PROMISES}


@pytest.mark.parametrize("name", QUICK)
def test_a_broken_rule_is_caught_by_its_promise(name: str) -> None:
    mutation = next(each for each in MUTATIONS if each.name == name)
    result = broken(mutation)
    assert not result.fault
    assert result.caught is not None
    assert result.caught.promise == mutation.promise


def test_nothing_is_caught_where_nothing_is_broken() -> None:
    same = Mutation("nothing", "", (Edit("bridge.quorum", "GRANT_MS = 500", "GRANT_MS = 500 + 0"),))
    assert changed(same.edits)
    quick = [mutation for mutation in MUTATIONS if mutation.name in QUICK]
    assert not control([broken(quick[0])])
