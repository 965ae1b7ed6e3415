from bridge.a2a.outcomes import Show, drafts
from bridge.a2a.reconcile import Run
from bridge.a2a.shown import Shown
from bridge.journal import Fence, chain, genesis


def test_what_a_first_run_shows_is_what_its_journal_folds_to() -> None:
    shown = Shown()
    run = Run(shown, fresh=True)
    outcomes = [
        outcome
        for event in (
            {"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}},
            {
                "artifactUpdate": {
                    "taskId": "t",
                    "contextId": "c",
                    "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
                }
            },
        )
        for outcome in run.receive(event)
    ]
    folded = Shown.fold(chain(genesis("t"), Fence(1, "s"), 0, drafts(outcomes)))
    assert folded.artifacts["a"].content.parts == [{"text": "x"}]
    assert folded.statuses == shown.statuses
    shows = [outcome for outcome in outcomes if isinstance(outcome, Show)]
    assert [[*each.event] for each in shows] == [["task"], ["statusUpdate"], ["artifactUpdate"]]
