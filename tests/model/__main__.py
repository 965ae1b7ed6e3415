"""Search the models exhaustively, or show that rules broken on purpose are caught.

python -m tests.model                        every model; 1 if a property broke or a search did not see everything
python -m tests.model small pair             some of them
python -m tests.model --mutations            every broken rule; 1 if one was not caught as expected
python -m tests.model --trail M_NOTHING_IS_CUT   how it breaks, step by step
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.model.catalogue import MODELS, MUTATIONS, Mutation
from tests.model.trail import readable
from tests.model.verifier import CYCLE, Result, missing, search

HEADS = f"{'states':>12}{'transitions':>14}{'depth':>7}{'seconds':>9}{'MB':>7}"


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.model", description="Models of the quorum rules.")
    parser.add_argument(
        "models", nargs="*", help=f"of {', '.join(model.name for model in MODELS)}; all without any"
    )
    parser.add_argument("--mutations", action="store_true", help="break rules on purpose")
    parser.add_argument("--trail", metavar="FLAG", help="break this rule and tell how that shows")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.models) - {model.name for model in MODELS}:
        parser.error(f"no such model: {', '.join(sorted(unknown))}")
    if reason := missing():
        sys.stderr.write(f"cannot search: {reason} (apt-get install spin gcc)\n")
        return 1
    if asked.trail:
        return tell([mutation for mutation in MUTATIONS if mutation.flag == asked.trail])
    return break_rules(asked.models) if asked.mutations else search_all(asked.models)


def search_all(names: Sequence[str]) -> int:
    """Search models and print a table; 1 if one is broken, or was not searched as a whole."""
    say(f"{'model':<8}{HEADS}  verdict")
    wrong = 0
    for model in MODELS:
        if names and model.name not in names:
            continue
        found = search(model)
        wrong |= not found.exhaustive
        say(f"{model.name:<8}{numbers(found)}  {verdict(found)}: {model.says}; {' '.join(model.bounds)}")
        if found.broken:
            again = search(model, ordered=False)
            say("\n".join(readable(again.trail, joint=model.file == "joint.pml")))
    return wrong


def break_rules(names: Sequence[str]) -> int:
    """Search with each rule broken; 1 if one was not caught by the property that must catch it."""
    say(f"{'mutation':<42}{'model':<8}{HEADS}  property broken")
    wrong = 0
    for mutation in MUTATIONS:
        if names and mutation.model.name not in names:
            continue
        found = search(mutation.model, mutation.flag)
        caught = found.broken == mutation.breaks
        wrong |= not caught
        says = (found.broken or "NOT CAUGHT") + ("" if caught else "  UNEXPECTED")
        say(f"{mutation.flag:<42}{mutation.model.name:<8}{numbers(found)}  {says}")
    return wrong


def tell(mutations: Sequence[Mutation]) -> int:
    """Print how broken rules show: the shortest trail, except to a run that never ends."""
    for mutation in mutations:
        model = mutation.model
        found = search(model, mutation.flag, ordered=False, shortest=mutation.breaks != CYCLE)
        say(f"{mutation.flag} in {model.name}: {found.broken or 'not caught'}, {found.states} states\n")
        say("\n".join(readable(found.trail, joint=model.file == "joint.pml")))
    return 0 if mutations else 2


def numbers(found: Result) -> str:
    """The columns of both tables."""
    counted = f"{found.states:>12,}{found.transitions:>14,}{found.depth:>7}"
    return f"{counted}{found.seconds:>9.1f}{found.megabytes:>7.0f}"


def verdict(found: Result) -> str:
    """In a word or two."""
    if found.broken:
        return f"BROKEN {found.broken}"
    return "holds" if found.exhaustive else "NOT EXHAUSTIVE"


def say(line: str) -> None:
    """Print at once: a search takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
