"""What others rely on, locked: error codes, trees as drawn, and names that agents and operators use."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import bridge.errors
import sidecar.errors
from bridge.errors import BridgeError, InvariantViolation
from bridge.journal import TERMINAL, Kind
from sidecar.config import OPTIONS
from sidecar.errors import SidecarError
from tests.architecture.sources import ROOT, sources

TREES = ((bridge.errors, BridgeError), (sidecar.errors, SidecarError))


def classes(module: object, base: type[BaseException]) -> dict[str, type[BaseException]]:
    return {
        name: found
        for name, found in vars(module).items()
        if inspect.isclass(found) and issubclass(found, base) and found.__module__ == module.__name__  # type: ignore[attr-defined]
    }


@pytest.mark.parametrize(("module", "base"), TREES, ids=["bridge", "sidecar"])
def test_the_tree_in_the_header_is_the_tree_of_the_classes(module: object, base: type[Exception]) -> None:
    drawn = re.findall(r"^ {4}([│ ]*)[├└]── (\w+) *([\w]*)", module.__doc__ or "", re.MULTILINE)
    parents = [base.__name__]
    edges: dict[str, str] = {}
    codes: dict[str, str] = {}
    for bars, name, code in drawn:
        depth = len(bars) // 4 + 1
        del parents[depth:]
        edges[name] = parents[-1]
        parents.append(name)
        codes[name] = code
    found = {name: kind for name, kind in classes(module, base).items() if kind is not base}
    assert edges == {name: kind.__bases__[0].__name__ for name, kind in found.items()}
    for name, kind in found.items():
        assert codes[name] in ("", getattr(kind, "code", "")), f"{name} is drawn with another code"


@pytest.mark.parametrize(("module", "base"), TREES, ids=["bridge", "sidecar"])
def test_codes_are_stable_strings_used_once(module: object, base: type[Exception]) -> None:
    codes = [vars(kind).get("code") for kind in classes(module, base).values()]
    assert all(isinstance(code, str) and re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)
    assert len(set(codes)) == len(codes)


def test_an_invariant_violation_escapes_every_handler_of_ordinary_faults() -> None:
    assert not issubclass(InvariantViolation, Exception)
    assert issubclass(InvariantViolation, BaseException)


def test_nothing_of_ours_swallows_an_invariant_violation() -> None:
    wrong = [
        f"{source.name}:{number}"
        for source in sources("bridge", "sidecar")
        for number, line in enumerate(source.text.splitlines(), 1)
        if re.search(r"except\s*:|suppress\(BaseException\)", line)
    ]
    assert not wrong


def test_entry_kinds_are_what_exports_in_the_world_contain() -> None:
    assert [str(kind) for kind in Kind] == [
        "dispatched", "answered", "bound", "claimed", "input", "event", "step", "spend", "suspended", "orphaned",
        "rewound", "cancel", "push", "review", "resolved", "voters", "completed", "failed", "canceled", "rejected",
        "reply", "expired",
    ]  # fmt: skip
    assert len(TERMINAL) == 6


def test_option_names_are_what_files_in_the_world_contain() -> None:
    assert [row.name for row in OPTIONS] == [
        "agent.url", "agent.progress_limit_s", "agent.event_bytes_max", "agent.connect_timeout_s",
        "agent.probe_timeout_s", "agent.hang_limit_s", "agent.absent_timeout_s", "agent.poll_interval_ms",
        "host", "port", "public_url", "gateway", "name", "group", "store", "control_port", "peers", "pair", "join",
        "peer_port", "peer_host", "cluster_secret", "cluster_secret_file", "config",
        "insecure", "drain_s", "log.format", "log.level", "log.colour", "lease.ttl_ms", "lease.margin_ms",
        "takeover.attempts_max", "takeover.stagger_ms", "takeover.refused_is_dead", "front.keep_alive_s",
        "front.request_bytes_max", "journal.idempotency_window_s", "journal.unacknowledged_s",
        "journal.buffered_bytes_max",
    ]  # fmt: skip


def test_the_environment_is_read_in_one_place() -> None:
    readers = {
        source.name for source in sources("bridge", "sidecar") if re.search(r"\b(environ|getenv)\b", source.text)
    }
    handed_on = {"sidecar/testing/processes.py"}  # to the processes of a test, not read
    known = {"sidecar/cli.py", "sidecar/config.py", "sidecar/main.py", "sidecar/store/migrations/env.py"}
    assert readers <= known | handed_on


def test_every_log_line_about_a_task_carries_task_and_fence() -> None:
    wrong = []
    for source in sources("sidecar"):
        for node in ast.walk(source.tree):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func).startswith("log.") and node.args):
                continue
            message = ast.unparse(node.args[0]).strip("'\"")
            extra = next((ast.unparse(word.value) for word in node.keywords if word.arg == "extra"), "")
            carried = "_extra(" in extra or ("'task'" in extra and "'fence'" in extra)
            if message.startswith("task %s") and not carried:
                wrong.append(f"{source.name}:{node.lineno}: {message}")
    assert not wrong, "give them extra={'task': …, 'fence': …}:\n" + "\n".join(wrong)


def test_import_contracts_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_reading_help_needs_no_server_libraries() -> None:
    script = "import sys, sidecar.cli; sidecar.cli.build(); print(*sorted(set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {
        "sqlalchemy",
        "uvicorn",
        "starlette",
        "aiohttp",
        "a2a",
        "prometheus_client",
    }


def test_the_agent_helper_needs_no_server_libraries() -> None:
    script = "import sys, sidecar.worker; print(*sorted(set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"sqlalchemy", "uvicorn", "starlette", "aiohttp", "httpx", "alembic"}
