"""The pytest plugin as others meet it: in a run of their own, in which most tests do not know that it is there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.integration.processes import ROOT

HEAVY = ("a2a", "bridge", "httpx", "orjson", "sidecar.testing.stage", "sqlalchemy", "starlette", "uvicorn")


def run(directory: Path, text: str, *options: str) -> tuple[int, str]:
    """pytest in a process and a directory of its own, with no configuration but the options."""
    (directory / "test_theirs.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:asyncio",
        "-c",
        os.devnull,
    ]
    command += ["--rootdir", str(directory), "-W", "error", "--strict-markers", *options]
    done = subprocess.run(
        [*command, str(directory / "test_theirs.py")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_the_example_in_the_documentation_holds(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    status, said = run(tmp_path, example)
    assert status == 0, said
    assert "1 passed" in said


def test_a_run_that_does_not_use_the_plugin_does_not_notice_it(tmp_path: Path) -> None:
    text = f"""
import sys

def test_nothing_is_imported(pytestconfig):
    assert pytestconfig.pluginmanager.hasplugin("dhp_sidecar"), "pip install -e . again: it is an entry point"
    assert not {{name for name in {HEAVY!r} if name in sys.modules}}
    assert {{name for name in sys.modules if name.startswith("sidecar")}} <= {{
        "sidecar", "sidecar.testing", "sidecar.testing.plugin", "sidecar.about"}}
"""
    status, said = run(tmp_path, text)
    assert status == 0, said
    status, said = run(tmp_path, "def test_without(pytestconfig): pass", "-p", "no:dhp_sidecar")
    assert status == 0, said


def test_nothing_survives_a_test_that_fails_before_it_enters_its_stage(tmp_path: Path) -> None:
    text = """
import sys

SLEEPS = "import os, sys, time; print(sys.argv[1], os.environ['AT'], flush=True); time.sleep(600)"

def test_fails(dhp_stage):
    agent = dhp_stage.start_agent([sys.executable, "-c", SLEEPS, "{port}"], "mine", env={"AT": "at {port}"})
    (dhp_stage.directory.parent.parent / "pid").write_text(str(agent.pid))
    while not agent.lines():
        pass
    port = agent.url.rpartition(":")[2]
    assert agent.lines() == [f"{port} at {port}"]
    agent.kill()
    agent.start()
    assert agent.alive and dhp_stage.store.exists()
"""
    status, said = run(tmp_path, text, "--basetemp", str(tmp_path / "run"))
    assert status == 1
    assert "dhp_stage.store.exists()" in said
    assert "== mine" in said  # its log
    pid = int((tmp_path / "run" / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
