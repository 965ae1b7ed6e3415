"""Draw the proof map: each promise, the file that watches it, and the broken rules that it caught.

Promises are the simulator's checkers, in their own words. A property of the model is shown beside the promise that
it is the model's form of; one that has none stands for itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable

from tests.architecture.candidate_table import plain
from tests.model.catalogue import MUTATIONS as MODEL_MUTATIONS
from tests.simulation.checkers import all as checkers
from tests.simulation.checkers.promise import Checker
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.mutation import OWN
from tests.simulation.scenarios.__main__ import SCENARIOS

CHECKERS = "../tests/simulation/checkers"

MUST_SHOWN = 4

#: The model's properties by the file of the checker that holds the simulator to the same.
SAME = {
    "acknowledged_entries_survive": ("a_known_entry_is_missing_at_a_later_owner",),
    "one_session_per_fence": ("two_sessions_own_one_n",),
    "fences_grow": ("fences_do_not_grow_along_a_journal", "a_voter_is_committed_beyond_its_journal"),
    "one_terminal": ("a_second_terminal", "an_entry_after_the_terminal"),
    "committed_prefixes_agree": ("committed_prefixes_differ", "a_difference_at_or_below_committed"),
    "every_task_finishes": ("no_progress_though_all_is_quiet",),
}


def file_of(promise: type[Checker]) -> str:
    """Name of a checker's file."""
    return promise.__module__.rpartition(".")[2]


def promise_of(promise: type[Checker]) -> str:
    """What a checker watches, in the first sentence of its file."""
    module = inspect.getmodule(promise)
    return plain(inspect.getdoc(module) or "").splitlines()[0]


def flag_said(flag: str) -> str:
    """A mutation's flag in the model, as words."""
    return flag.removeprefix("M_").replace("_", " ").lower()


def in_the_model(properties: Iterable[str]) -> list[str]:
    """Rules whose breaking these properties showed in the model, each once."""
    return [*dict.fromkeys(flag_said(each.flag) for each in MODEL_MUTATIONS if each.breaks in properties)]


def in_the_simulator(name: str) -> list[str]:
    """Rules whose breaking a checker of this name showed in the simulator."""
    return [each.name for each in MUTATIONS if each.promise == name]


def row(promise: str, simulated: Iterable[str], modelled: Iterable[str]) -> str:
    """One line of the map."""
    return f"| {promise} | {'; '.join(simulated)} | {'; '.join(modelled)} |"


def proof_map() -> str:
    """Every promise with what caught what."""
    rows = []
    for promise in checkers.PROMISES:
        name = file_of(promise)
        told = f"[{promise.name}]({CHECKERS}/{name}.py): {promise_of(promise)}"
        rows.append(row(told, in_the_simulator(promise.name), in_the_model(SAME.get(name, ()))))
    if stopped := in_the_simulator(OWN):
        rows.append(row(f"{OWN}: what is impossible stops the process", stopped, ()))
    rest = {each.breaks for each in MODEL_MUTATIONS} - {each for same in SAME.values() for each in same}
    rows += [row(f"{flag_said(each)} (in the model only)", (), in_the_model((each,))) for each in sorted(rest)]
    return "\n".join(["| promise | caught in the simulator | caught in the model |", "|---|---|---|", *rows])


def scenarios() -> str:
    """The stories that are told on purpose, each with what must really have happened in it."""
    rows = []
    for each in SCENARIOS:
        must = "; ".join([*each.must[:MUST_SHOWN], *(["…"] if len(each.must) > MUST_SHOWN else [])])
        rows.append(f"| {each.number} | `{each.key}` | {each.name} | {must} |")
    return "\n".join(["| | key | story | must have happened |", "|---|---|---|---|", *rows])
