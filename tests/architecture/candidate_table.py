"""Draw a candidate's life from the table that decides it, and what a voter answers from the code that does."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from enum import Enum

from bridge import placement, quorum, voterid
from bridge.proposer import TRANSITIONS, Stage
from bridge.quorum import Appended, Granted, Refusal

#: Which questions each of these functions answers.
ANSWERS = (
    (quorum.decide_claim, "pre-vote, claim"),
    (quorum.decide_append, "append"),
    (placement.misplaced, "first append"),
    (voterid.misdirected, "anything"),
)


def said_of(kind: type[Enum]) -> dict[str, str]:
    """What the comment behind each member of an enum says, by the member's name."""
    lines = inspect.getsource(kind).splitlines()
    found = (re.fullmatch(r"    (\w+) = \"\w+\"  # (.*)", line) for line in lines)
    return {match[1]: plain(match[2]) for match in found if match}


def plain(text: str) -> str:
    """A docstring's words as a page writes them."""
    return text.replace("``", "`")


def life() -> str:
    """Every move of a candidate as a Mermaid state diagram."""
    moves = [
        f"    {stage} --> {after}: {news.__name__}"
        for stage, row in TRANSITIONS.items()
        for news, leads in row.items()
        for after in leads
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> idle", *moves, "    lost --> [*]", "```"])


def stages() -> str:
    """What each stage means, and what is news in it."""
    says = said_of(Stage)
    rows = [
        f"| **{stage}** | {says[stage.name]} | {', '.join(news.__name__ for news in row)} |"
        for stage, row in TRANSITIONS.items()
    ]
    return "\n".join(["| stage | the candidate | is moved by |", "|---|---|---|", *rows])


def refused_by(rule: object) -> set[str]:
    """Members of ``Refusal`` that a function names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(rule)))  # type: ignore[arg-type]
    named = (
        node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )
    return {node.attr for node in named if isinstance(node.value, ast.Name) and node.value.id == "Refusal"}


def yes_said(kind: type) -> str:
    """What a yes holds, from the first line of its docstring."""
    return plain(inspect.getdoc(kind) or "").splitlines()[0].partition(": ")[2].rstrip(".")


def answers() -> str:
    """Everything that a voter may say, and to which question."""
    yes = [
        f"| **{name}** | {to} | {yes_said(kind)} |"
        for name, to, kind in (("granted", "pre-vote, claim", Granted), ("appended", "append", Appended))
    ]
    says = said_of(Refusal)
    no = []
    for refusal in Refusal:
        to = ", ".join(asked for rule, asked in ANSWERS if refusal.name in refused_by(rule))
        no.append(f"| {refusal} | {to} | {says[refusal.name]} |")
    return "\n".join(["| answer | to | says |", "|---|---|---|", *yes, *no])
