from bridge.handoff import FINAL, TRANSITIONS, State
from tests.architecture.state_table import diagram, table


def test_the_drawing_has_every_transition() -> None:
    rows = table().splitlines()[2:]
    assert len(rows) == len(TRANSITIONS)
    for row, (state, kinds) in zip(rows, TRANSITIONS.items(), strict=True):
        assert row.startswith(f"| **{state}** |")
        assert row.count(",") == len(kinds) - sum(part.strip(" |") != "" for part in row.split("|")[2:4])
        for kind, after in kinds.items():
            target = "ended" if after in FINAL else after
            drawn = "[*] --> dispatched: " if state is State.ABSENT else f" {state} --> {target}: "
            lines = [line for line in diagram().splitlines() if drawn in line]
            assert after is state or kind in lines[0] or "any terminal" in lines[0]
