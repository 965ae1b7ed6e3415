"""Draw what the simulator is made of: its own files, and the modules of ``bridge/`` that its worlds run."""

from __future__ import annotations

import ast
import re

from tests.architecture.sources import Source, imported, sources


def module_of(name: str) -> str:
    """A file's dotted name."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def shell() -> list[Source]:
    """The simulator's own files: what breaks rules, judges them or tests the worlds lies deeper, or is a test."""
    own = re.compile(r"tests/simulation/(?!test_)\w+\.py")
    return [each for each in sources("tests/simulation") if own.fullmatch(each.name)]


def files() -> str:
    """Each of them in the first sentence of its docstring."""
    rows = []
    for source in shell():
        says = (ast.get_docstring(source.tree) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
        rows.append(
            f"| `{source.name.rpartition('/')[2].removesuffix('.py')}` | {says.partition('. ')[0].rstrip('.')} |"
        )
    return "\n".join(["| file | what it is |", "|---|---|", *rows])


def run_by_worlds() -> tuple[list[str], list[str]]:
    """Modules that the simulator imports, directly or below those, and the others."""
    rules = {module_of(source.name): source for source in sources("bridge") if "__init__" not in source.name}
    found = {name for source in shell() for _, name in imported(source) if name in rules}
    ahead = sorted(found)
    while ahead:
        below = {name for _, name in imported(rules[ahead.pop()]) if name in rules} - found
        found |= below
        ahead += sorted(below)
    return sorted(found), sorted(rules.keys() - found)


def said(modules: list[str]) -> str:
    """Modules as a page names them."""
    return ", ".join(f"`{name.removeprefix('bridge.').replace('.', '/')}`" for name in modules)


def rules_run() -> str:
    """Both lists."""
    used, unused = run_by_worlds()
    return f"Worlds run {said(used)}.\n\nThey do not touch {said(unused)}."
