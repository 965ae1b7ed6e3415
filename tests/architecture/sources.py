"""The project's own sources as the architecture tests see them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("bridge", "sidecar")
ALL = (*PRODUCT, "examples", "tests", "benchmarks")


class Source(NamedTuple):
    """One Python file.

    Attributes:
        name: path from the repository's root, for messages.
        text: its content.
        tree: its syntax tree.
    """

    name: str
    text: str
    tree: ast.Module


def sources(*directories: str) -> list[Source]:
    """All Python files below these directories, in order of their names."""
    found = []
    for directory in directories:
        for path in sorted((ROOT / directory).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            found.append(Source(str(path.relative_to(ROOT)), text, ast.parse(text, str(path))))
    return found


def functions(source: Source) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
