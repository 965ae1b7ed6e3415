"""Draw the handoff's states from the table that decides."""

from __future__ import annotations

from bridge.handoff import FINAL, TRANSITIONS, State
from bridge.journal import Kind


def diagram() -> str:
    """The moves as a Mermaid state diagram; what keeps a state is left to the table."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> dispatched: dispatched"]
    for state, row in TRANSITIONS.items():
        if state is State.ABSENT:
            continue
        moves: dict[str, list[str]] = {}
        for kind, after in row.items():
            if after is not state:
                moves.setdefault("ended" if after in FINAL else after.value, []).append(kind.value)
        for target, kinds in moves.items():
            label = "any terminal" if len(kinds) == len(FINAL) else ", ".join(kinds)
            lines.append(f"    {state.value} --> {target}: {label}")
    return "\n".join([*lines, "    ended --> [*]", "```"])


def table() -> str:
    """Every state with what it allows: first the kinds that keep it, then the ones that move it."""
    lines = ["| state | stays | moves |", "|---|---|---|"]
    for state, row in TRANSITIONS.items():
        stays = [kind.value for kind, after in row.items() if after is state]
        moves = [_move(kind, after) for kind, after in row.items() if after is not state]
        lines.append(f"| **{state.value}** | {', '.join(stays)} | {', '.join(moves)} |")
    return "\n".join(lines)


def _move(kind: Kind, after: State) -> str:
    return kind.value if kind.value == after.value else f"{kind.value} → {after.value}"
