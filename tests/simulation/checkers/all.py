"""Every promise, and who is told of what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.simulation.checkers.acknowledged_entries_survive import AcknowledgedEntriesSurvive
from tests.simulation.checkers.an_effect_has_one_receipt import AnEffectHasOneReceipt
from tests.simulation.checkers.committed_prefixes_agree import CommittedPrefixesAgree
from tests.simulation.checkers.every_task_finishes import EveryTaskFinishes
from tests.simulation.checkers.fences_grow import FencesGrow
from tests.simulation.checkers.living_owners_stay import LivingOwnersStay
from tests.simulation.checkers.nothing_without_a_majority import NothingWithoutAMajority
from tests.simulation.checkers.one_owner_acts import OneOwnerActs
from tests.simulation.checkers.one_session_per_fence import OneSessionPerFence
from tests.simulation.checkers.one_terminal import OneTerminal
from tests.simulation.checkers.promise import HOOKS, Checker
from tests.simulation.checkers.purged_stays_purged import PurgedStaysPurged
from tests.simulation.checkers.reads_never_go_back import ReadsNeverGoBack
from tests.simulation.checkers.replacements_have_their_record import ReplacementsHaveTheirRecord
from tests.simulation.checkers.review_waits_for_an_operator import ReviewWaitsForAnOperator
from tests.simulation.checkers.runs_begin_after_the_claim import RunsBeginAfterTheClaim
from tests.simulation.checkers.shown_entries_are_kept import ShownEntriesAreKept
from tests.simulation.checkers.stream_equals_task import StreamEqualsTask
from tests.simulation.checkers.task_is_what_was_made import TaskIsWhatWasMade
from tests.simulation.checkers.the_cut_is_exact import TheCutIsExact

if TYPE_CHECKING:
    from tests.simulation.world import World

PROMISES: tuple[type[Checker], ...] = (
    ShownEntriesAreKept,
    OneSessionPerFence,
    FencesGrow,
    OneTerminal,
    CommittedPrefixesAgree,
    AcknowledgedEntriesSurvive,
    ReadsNeverGoBack,
    OneOwnerActs,
    LivingOwnersStay,
    RunsBeginAfterTheClaim,
    TheCutIsExact,
    ReplacementsHaveTheirRecord,
    AnEffectHasOneReceipt,
    ReviewWaitsForAnOperator,
    PurgedStaysPurged,
    NothingWithoutAMajority,
    StreamEqualsTask,
    TaskIsWhatWasMade,
    EveryTaskFinishes,
)


class Watch:
    """Tells every checker what it wants to know: ``watch.shown(…)`` reaches those that override ``shown``."""

    def __init__(self, world: World) -> None:
        self.checkers = [promise(world) for promise in PROMISES]
        self._connect()

    def add(self, listener: Checker) -> None:
        """Tell another one too, after the promises."""
        self.checkers.append(listener)
        self._connect()

    def _connect(self) -> None:
        for hook in HOOKS:
            wanted = [each for each in self.checkers if getattr(type(each), hook) is not getattr(Checker, hook)]
            setattr(self, hook, _told([getattr(each, hook) for each in wanted]))

    if TYPE_CHECKING:

        def __getattr__(self, hook: str) -> Callable[..., None]: ...


def _told(listeners: list[Callable[..., None]]) -> Callable[..., None]:
    def tell(*args: Any) -> None:
        for listener in listeners:
            listener(*args)

    return listeners[0] if len(listeners) == 1 else tell
