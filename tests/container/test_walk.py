"""The walk of BRIDGE_DEMO.md with real containers: an agent is killed, a sidecar is killed, a sidecar is drained.

Each time a stock client streams 60 pages through the gateway and gets all of them, each once, in order, on the one
stream that it opened; where each sidecar is a host of its own, and where all share one host's volume.
"""

from __future__ import annotations

import sys
import time

import pytest

from tests.container.engine import IMAGES, Project, say
from tests.container.walk import Walk, until

pytestmark = pytest.mark.timeout(900)

KILL_AT = 15
READY_S = 60.0


def told(capsys: pytest.CaptureFixture[str], what: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n{what}\n")
        sys.stdout.flush()


def test_the_image_runs_as_nobody_without_tools(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    look = "id -u; command -v pip pip3 gcc cc make; python -c 'import pip' 2>&1; touch /x /opt/dhp/x 2>&1; "
    look += "cat /proc/1/cmdline"
    said = project.run_in(project.stack.gateway, "sh", "-c", f"{look} || true")
    assert said.startswith("10001\n")
    assert "No module named 'pip'" in said
    assert said.count("Read-only file system") == 2
    assert "/pip" not in said
    assert "/make" not in said
    assert "cc\n" not in said
    assert said.split("\n")[-1].split("\0")[1].endswith("/dhp-sidecar")
    size = int(say(project.engine.cli, "image", "inspect", IMAGES["sidecar"], "--format", "{{.Size}}"))
    base = int(say(project.engine.cli, "image", "inspect", project.engine.base(), "--format", "{{.Size}}"))
    assert size - base < 160e6
    told(capsys, f"image: {size / 1e6:.0f} MB, of which the base {base / 1e6:.0f} MB")


def test_the_health_check_asks_the_control_port(project: Project) -> None:
    one = project.stack.sidecars[0]
    check = project.inspect(one)["Config"]["Healthcheck"]["Test"]
    assert check[:4] == ["CMD", "python", "-m", "sidecar.ops.probe"]
    assert '"ready"' in project.run_in(one, *check[1:])
    assert '"ok"' in project.run_in(one, "python", "-m", "sidecar.ops.probe")


def test_the_agents_container_is_killed(walk: Walk, capsys: pytest.CaptureFixture[str]) -> None:
    walk.begin()
    walk.wait_for_pages(KILL_AT)
    victim, other = walk.at_work()
    walk.kill(f"agent-{victim}")
    cost = walk.takeover(f"agent-{other}")
    verdict = walk.end()
    told(capsys, f"docker kill agent-{victim}: {cost}\n{verdict}")
    assert "WALK: GREEN: 60 of 60" in verdict
    assert walk.owners()[-2:] == [f"sidecar-{victim}", f"sidecar-{other}"]
    assert cost.called < 5000
    walk.project.start(f"agent-{victim}")
    until(lambda: walk.project.ready(walk.service(victim)), READY_S, "the sidecar is ready again")


def test_the_sidecars_container_is_killed(walk: Walk, capsys: pytest.CaptureFixture[str]) -> None:
    walk.begin()
    walk.wait_for_pages(KILL_AT)
    victim, other = walk.at_work()
    walk.kill(walk.service(victim))
    cost = walk.takeover(f"agent-{other}")
    verdict = walk.end()
    told(capsys, f"docker kill sidecar-{victim}: {cost}\n{verdict}")
    assert "WALK: GREEN: 60 of 60" in verdict
    assert walk.owners()[-2:] == [f"sidecar-{victim}", f"sidecar-{other}"]
    if (
        walk.project.stack.shared
    ):  # by the kernel's lock, which another container held, and not by the lease of 3 s
        assert (walk.moves()[-1][1], cost.called < 1500) == ("lock", True)
    else:  # nobody can tell: by the lease
        assert (walk.moves()[-1][1], 1500 < cost.called < 6000) == ("expired", True)
    walk.project.start(walk.service(victim))
    until(lambda: walk.project.ready(walk.service(victim)), READY_S, "the sidecar is ready again")


def test_a_stopped_sidecar_hands_over(walk: Walk, capsys: pytest.CaptureFixture[str]) -> None:
    walk.begin()
    walk.wait_for_pages(KILL_AT)
    victim, other = walk.at_work()
    began = time.monotonic()
    say(walk.project.engine.cli, "stop", "-t", "35", walk.project.container(walk.service(victim)))
    took = time.monotonic() - began
    verdict = walk.end()
    told(capsys, f"docker stop sidecar-{victim}: gone after {took:.1f} s\n{verdict}")
    assert "WALK: GREEN: 60 of 60" in verdict
    assert walk.project.inspect(walk.service(victim))["State"]["ExitCode"] == 0
    assert walk.owners()[-1] == f"sidecar-{other}"
    walk.project.start(walk.service(victim))
    until(lambda: walk.project.ready(walk.service(victim)), READY_S, "the sidecar is ready again")


def test_every_journal_verifies(project: Project) -> None:
    for service in project.stack.sidecars:
        assert project.run_in(service, "dhp-sidecar", "verify")
