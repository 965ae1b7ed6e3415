"""Sizes, names and headers: what makes a file readable in one sitting, held by a test instead of by memory."""

from __future__ import annotations

import ast
import re

import pytest

from tests.architecture.sources import ALL, PRODUCT, ROOT, Source, functions, sources

FILE_LINES, FUNCTION_LINES, HEADER_LETTERS = 300, 60, 20
EVERYTHING = sources(*ALL)
SHIPPED = sources(*PRODUCT, "examples")
PRODUCT_ONLY = sources(*PRODUCT)

# One word for one thing: these are other people's words for a fence, or for nothing in particular.
NOT_OUR_WORDS = re.compile(r"(?:\A|_)(epochs?|terms?|utils?|helpers?|managers?|leader|follower)(?:_|\Z)")
FENCE_AS_TOKEN = re.compile(r"(?:\A|_)(fencing_token|fence_token|fence_generation|fence_epoch)(?:_|\Z)")
GENERATION_IS_A_KEYS = re.compile(r"\bgeneration\b")
FILE_WORDS = re.compile(r"(?:\A|_)(utils?|helpers|managers?|misc|common)(?:_|\Z)")
VERSION = re.compile(r"(?:\A|_)v\d+(?:_|\Z)|_\d+\Z")


@pytest.mark.parametrize("source", EVERYTHING, ids=lambda source: source.name)
def test_files_are_short(source: Source) -> None:
    lines = source.text.count("\n")
    assert lines < FILE_LINES, f"{source.name} has {lines} lines: split it by what it is about"


@pytest.mark.parametrize("source", SHIPPED, ids=lambda source: source.name)
def test_functions_are_short(source: Source) -> None:
    long = [
        f"{source.name}:{node.lineno}: {node.name} has {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in functions(source)
        if (node.end_lineno or 0) - node.lineno + 1 >= FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("source", SHIPPED, ids=lambda source: source.name)
def test_every_file_says_why_it_is_there(source: Source) -> None:
    header = ast.get_docstring(source.tree)
    assert header is not None, f"{source.name} has no header"
    assert len(header) > HEADER_LETTERS, f"{source.name}: what lives here, and what does it prevent?"


@pytest.mark.parametrize("source", EVERYTHING, ids=lambda source: source.name)
def test_file_names_are_nouns_without_versions(source: Source) -> None:
    for part in source.name.removesuffix(".py").split("/"):
        assert not FILE_WORDS.search(part), f"{source.name}: name what it is"
        assert not VERSION.search(part), f"{source.name}: no version numbers"


@pytest.mark.parametrize("source", PRODUCT_ONLY, ids=lambda source: source.name)
def test_identifiers_use_our_words(source: Source) -> None:
    wrong = sorted(
        {
            name
            for name in identifiers(source.tree)
            if NOT_OUR_WORDS.search(name.lower()) or FENCE_AS_TOKEN.search(name.lower())
        }
    )
    assert not wrong, f"{source.name}: {', '.join(wrong)}"


@pytest.mark.parametrize("source", PRODUCT_ONLY, ids=lambda source: source.name)
def test_generation_means_only_a_message_keys(source: Source) -> None:
    names = {name for name in identifiers(source.tree) if "generation" in name.lower()}
    assert names <= {"generation", "generations", "last_generation"}, f"{source.name}: {sorted(names)}"
    if names:
        assert re.search(r"message|MessageKey|KeyRow|key_hash", source.text), (
            f"{source.name}: a generation of what?"
        )


def identifiers(tree: ast.AST) -> set[str]:
    """Names that a file defines: classes, functions, arguments, variables, attributes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name) for name in found}


def test_nothing_refers_to_machines_that_built_it() -> None:
    # Spelt in pieces, so that this line does not find itself.
    paths = re.compile("/" + "work/|/" + "root/|/" + "home/(?!ada)[a-z]+/")
    texts = [(source.name, source.text) for source in EVERYTHING]
    texts += [
        (str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile", ROOT / ".ci" / "run")
    ]
    assert not [name for name, text in texts if paths.search(text)]


@pytest.mark.parametrize("source", PRODUCT_ONLY, ids=lambda source: source.name)
def test_a_log_line_about_a_task_carries_its_id(source: Source) -> None:
    """README promises it: such a line is found by ``task``, not by reading messages."""
    calls = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and node.args]
    about = [
        call for call in calls
        if isinstance(call.args[0], ast.Constant) and str(call.args[0].value).startswith("task %s")
    ]  # fmt: skip
    assert all(any(keyword.arg == "extra" for keyword in call.keywords) for call in about), [
        f"{source.name}:{call.lineno}" for call in about
    ]
