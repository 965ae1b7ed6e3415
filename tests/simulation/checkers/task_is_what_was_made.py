"""A task ends as the run that ended it made it, whatever was repeated, replaced or swallowed on the way.

The truth is the model agent's, kept apart from every rule. Artifacts that an earlier run had and the last one did
not make are marked as superseded, which is what a client may still see of them.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from bridge.a2a.remaking import SUPERSEDED
from tests.simulation.checkers.promise import Checker
from tests.unit.a2a.model_client import text_of

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.world import World
    from tests.unit.a2a.model_scripts import State


class TaskIsWhatWasMade(Checker):
    """What each run that ended had made, by the hash of the terminal that it led to."""

    name = "a task is what its last run made"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.books: dict[str, tuple[str, State]] = {}

    def told(self, task: str, terminal: str, state: State) -> None:
        self.books[terminal] = (task, copy.deepcopy(state))

    def compared(self, client: Client, task: dict[str, Any]) -> None:
        terminal = self.world.terminal_of(client.task)
        if terminal is None or terminal not in self.books:
            return
        made = self.books[terminal][1].made
        held = [each for each in task.get("artifacts", ()) if each["parts"] != [{"text": SUPERSEDED}]]
        if sorted(map(text_of, held)) != sorted(map(text_of, made.values())):
            raise self.broken(f"{client.task}: clients hold {held}, the run made {[*made.values()]}")
