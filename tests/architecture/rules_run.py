"""Draw which modules of ``bridge/`` the simulator's worlds run, and which no world touches."""

from __future__ import annotations

import re

from tests.architecture.sources import imported, sources


def module_of(name: str) -> str:
    """A file's dotted name."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def run_by_worlds() -> tuple[list[str], list[str]]:
    """Modules that the simulator imports, directly or below those, and the others."""
    rules = {module_of(source.name): source for source in sources("bridge") if "__init__" not in source.name}
    # What breaks rules, judges them or tests the worlds themselves lies deeper, or is called a test.
    shell = [
        each
        for each in sources("tests/simulation")
        if re.fullmatch(r"tests/simulation/(?!test_)\w+\.py", each.name)
    ]
    found = {name for source in shell for _, name in imported(source) if name in rules}
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
