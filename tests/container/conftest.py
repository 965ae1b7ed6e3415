"""One set of containers for all tests of the walk: built once, started once, removed at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.container.engine import Engine, NoEngine, Project, find
from tests.container.walk import Walk, until
from tests.integration.agents import free_port

PACE_S = 0.1
READY_S = 60.0


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine of this machine, with both images built; skips where there is none."""
    try:
        engine = find()
        engine.build()
    except NoEngine as reason:
        pytest.skip(f"no containers: {reason}")
    return engine


@pytest.fixture(scope="session")
def project(engine: Engine) -> Iterator[Project]:
    """Everything of docker-compose.yml but the client, up and ready."""
    project = Project(engine, free_port(), PACE_S)
    try:
        project.compose("up", "-d", "--no-build")
        for service in ("sidecar-b", "sidecar-c", "gateway"):
            until(lambda service=service: project.ready(service), READY_S, f"{service} is ready")  # type: ignore[misc]
        yield project
    finally:
        try:
            for service in ("gateway", "sidecar-b", "sidecar-c", "agent-b", "agent-c"):
                sys.stderr.write("\n".join([f"== {service}", *project.logs(service)[-20:], ""]))
        finally:
            project.down()


@pytest.fixture
def walk(project: Project, tmp_path: object) -> Iterator[Walk]:
    """One client that streams one census."""
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    walk = Walk(project, tmp_path / "client.log")
    yield walk
    walk.close()
