"""The image is built from what the locks and the ignore file say; a build is too slow to find out otherwise."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.sources import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, re.MULTILINE))


def test_the_runtime_lock_is_a_part_of_the_whole_lock() -> None:
    runtime, whole = pins("requirements-runtime.lock"), pins("requirements.lock")
    assert runtime.items() <= whole.items(), "run make lock"
    assert not {"pytest", "ruff", "mypy", "hatchling"} & runtime.keys()


def test_the_runtime_lock_has_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.match(r"[a-z0-9-]+", each, re.IGNORECASE)[0].lower() for each in project["dependencies"]}  # type: ignore[index]
    assert wanted <= pins("requirements-runtime.lock").keys(), "run make lock"


def test_what_the_builder_picks_is_in_the_lock() -> None:
    picked = {name for names in re.findall(r"pick '([^']+)'", DOCKERFILE) for name in names.split("|")}
    assert {"hatchling", "sse-starlette"} <= picked <= pins("requirements.lock").keys()


def test_what_is_copied_is_not_ignored() -> None:
    allowed = {
        line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    copies = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    copied = {path for line in copies for path in line.split()}
    assert copied == allowed
    assert all((ROOT / path).exists() for path in copied)


def test_the_final_stages_run_as_somebody_else_than_root() -> None:
    stages = re.split(r"^FROM .+ AS ", DOCKERFILE, flags=re.MULTILINE)[1:]
    finals = [stage for stage in stages if stage.split()[0] in ("examples", "sidecar")]
    assert [re.findall(r"^USER (.+)$", stage, re.MULTILINE) for stage in finals] == [["10001:10001"]] * 2
    assert stages[-1].startswith("sidecar\n"), "the last stage is what a build without --target makes"
