"""``bridge`` decides and does nothing else: no I/O, clock, chance, waiting, nor an order that varies by run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import Source, imported, sources

BRIDGE = sources("bridge")
PURE = frozenset(
    {
        "__future__", "abc", "base64", "bisect", "bridge", "collections", "copy", "dataclasses", "datetime",
        "enum", "functools", "hashlib", "heapq", "itertools", "json", "math", "operator", "orjson", "re", "string",
        "struct", "types", "typing", "unicodedata", "urllib.parse", "uuid",
    }
)  # fmt: skip
CHANCE_OR_CLOCK = frozenset(
    {"uuid1", "uuid4", "now", "utcnow", "today", "getnode", "open", "print", "input", "hash", "id"}
)


@pytest.mark.parametrize("source", BRIDGE, ids=lambda source: source.name)
def test_imports_are_of_pure_modules(source: Source) -> None:
    wrong = [
        f"{source.name}:{line}: {name}"
        for line, name in imported(source)
        if name not in PURE and name.split(".", 1)[0] not in PURE
    ]
    assert not wrong


@pytest.mark.parametrize("source", BRIDGE, ids=lambda source: source.name)
def test_nothing_waits_reads_a_clock_or_draws(source: Source) -> None:
    wrong = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            wrong.append(f"{source.name}:{node.lineno}: async")
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in CHANCE_OR_CLOCK:
                wrong.append(f"{source.name}:{node.lineno}: {name}()")
    assert not wrong


@pytest.mark.parametrize("source", BRIDGE, ids=lambda source: source.name)
def test_no_set_is_iterated(source: Source) -> None:
    """A set's order differs between two processes; ``sorted`` gives it one."""
    assert not [f"{source.name}:{line}" for line in iterated_sets(source.tree)]


def test_the_search_for_iterated_sets_finds_them() -> None:
    text = """
NAMES: frozenset[str] = frozenset({"a"})
for one in {1, 2}: pass
pairs = [x for x in NAMES]
items = list(NAMES)
fine = sorted(NAMES), 1 in NAMES, {x for x in NAMES}, len(NAMES), any(x for x in NAMES)
first = next(iter(NAMES))
also = "".join(NAMES | {"b"})
def scan(known: set[str]) -> None:
    for one in known: pass
"""
    assert sorted(iterated_sets(ast.parse(text))) == [3, 4, 5, 7, 8, 10]


ORDERLESS = frozenset({"sorted", "set", "frozenset", "any", "all", "len", "sum", "min", "max"})
ORDERED = frozenset({"list", "tuple", "iter", "enumerate", "join", "zip", "map", "filter", "dict", "fromkeys"})


def iterated_sets(tree: ast.Module) -> Iterator[int]:
    """Lines that go through a set in an order that matters, as far as names and annotations show."""
    scopes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inner = {id(node) for scope in scopes for node in ast.walk(scope)}
    outside = [node for node in ast.walk(tree) if id(node) not in inner]
    known = {name for node in outside for name in _sets_named_by(node)}
    yield from _iterated(outside, known)
    for scope in scopes:
        nodes = list(ast.walk(scope))
        sets = {name for node in nodes for name in _sets_named_by(node)}
        other = {
            node.arg if isinstance(node, ast.arg) else node.id
            for node in nodes
            if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        }
        yield from _iterated(nodes, sets | (known - other))


def _iterated(nodes: list[ast.AST], known: set[str]) -> Iterator[int]:
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    harmless = {id(inner) for call in calls if getattr(call.func, "id", "") in ORDERLESS for inner in call.args}
    for node in nodes:
        if isinstance(node, ast.For) and _is_set(node.iter, known):
            yield node.lineno
        elif isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp) and id(node) not in harmless:
            if any(_is_set(part.iter, known) for part in node.generators):
                yield node.lineno
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ORDERED and any(_is_set(inner, known) for inner in node.args):
                yield node.lineno


def _sets_named_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.AnnAssign | ast.arg):
        annotation = ast.unparse(node.annotation) if node.annotation else ""
        name = node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)
        bare = annotation.removeprefix("Final[").removeprefix("ClassVar[")
        return [name] if bare.startswith(("set[", "frozenset[", "AbstractSet[", "Set[")) else []
    if isinstance(node, ast.Assign) and _is_set(node.value, set()):
        return [ast.unparse(target) for target in node.targets]
    return []


def _is_set(node: ast.AST, known: set[str]) -> bool:
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("set", "frozenset"):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr | ast.BitAnd | ast.Sub | ast.BitXor):
        return _is_set(node.left, known) or _is_set(node.right, known)
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node) in known
