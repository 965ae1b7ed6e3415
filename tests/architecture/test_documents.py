"""Documents say what is so: the table of options, the links, the commands and the release."""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib

import pytest

import sidecar
from bridge.a2a import extension
from bridge.a2a.extension import URI
from sidecar.cli import COMMANDS, build
from sidecar.config import OPTIONS
from tests.architecture.readme import README, with_table
from tests.architecture.sources import ROOT
from tests.suites import SUITES

TEXT = README.read_text(encoding="utf-8")
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("bridge/**/*.md"), *ROOT.glob("tests/**/*.md")]
)


def test_the_table_of_options_is_current() -> None:
    assert with_table(TEXT) == TEXT, "run make format"
    for row in OPTIONS:
        assert f"| `{row.flag or row.name}` |" in TEXT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: object) -> None:
    from pathlib import Path

    assert isinstance(page, Path)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (page.parent / target).exists()]
    assert not missing


def test_the_commands_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)", TEXT):
        if target != "the":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in re.findall(r"^\$ (?:\.venv/bin/)?dhp-sidecar (\w+)", TEXT, re.MULTILINE):
        assert command in COMMANDS
    for module in re.findall(r"python -m ([\w.]+)", TEXT):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module


def test_the_example_in_the_readme_keeps_checkpoints() -> None:
    """Without the declaration it would run, and be run from the start after every death."""
    from sidecar import worker

    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    code = textwrap.dedent("  " + example.lstrip(" "))
    compile(code, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert "card = declare_durable(card)" in code
    (imported,) = re.findall(r"from sidecar\.worker import (.*)", code)
    assert set(imported.split(", ")) <= set(worker.__all__)
    assert "card = declare_durable(card)" in str(worker.__doc__)


def test_one_spelling_of_the_command_in_the_readme() -> None:
    assert not re.findall(r"^\$ dhp-sidecar.*", TEXT, re.MULTILINE), "say .venv/bin/dhp-sidecar"


def test_every_key_of_the_extension_is_documented() -> None:
    page = (ROOT / "docs" / "extension.md").read_text(encoding="utf-8")
    keys = [
        value for name, value in vars(extension).items() if name.isupper() and str(value).startswith(URI + "/")
    ]
    assert len(keys) >= 7
    assert URI in page
    assert all(f"`{key.removeprefix(URI)}`" in page for key in keys)


def test_help_names_every_option_and_command() -> None:
    parser = build()
    help_text = parser.format_help()
    assert all(re.search(rf"^\s+{command}\s", help_text, re.MULTILINE) for command in COMMANDS)
    (commands,) = (action for action in parser._actions if hasattr(action, "choices") and action.choices)
    assert isinstance(commands.choices, dict)
    text = commands.choices["run"].format_help()
    assert all((row.flag or row.name) in text for row in OPTIONS)


def test_the_release_is_named_alike_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == sidecar.__version__
    assert f"## [{sidecar.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.name for path in folder.glob("0*.md"))
    assert pages
    assert [page[:4] for page in pages] == [f"{number:04}" for number in range(1, len(pages) + 1)]
    assert all(f"({page})" in index for page in pages)


def test_every_directory_of_tests_is_a_suite() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("test_*.py"))}
    assert folders <= {suite.name for suite in SUITES}
