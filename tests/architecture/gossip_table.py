"""Draw how a member stands with another one from the table that decides."""

from __future__ import annotations

from bridge.gossip.member import MOVES, News, State
from tests.architecture.candidate_table import said_of


def standings() -> str:
    """A member's states as a Mermaid state diagram, each move with what is heard."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {State.ALIVE}: {News.SPOKE}"]
    for state, row in MOVES.items():
        lines += [f"    {state} --> {after}: {news}" for news, after in row.items()]
    return "\n".join([*lines, "```"])


def meanings() -> str:
    """What each state and each news means."""
    rows = [f"| **{State[name]}** | {says} |" for name, says in said_of(State).items()]
    rows += [f"| {News[name]} | {says} |" for name, says in said_of(News).items()]
    return "\n".join(["| | |", "|---|---|", *rows])
