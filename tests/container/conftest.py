"""Two sets of containers for the tests of the walk: built once, one after the other started, and removed."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.container.engine import PEERS, SHARED, Engine, NoEngine, Project, find
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


@pytest.fixture(scope="session", params=[PEERS, SHARED], ids=["peers", "shared"])
def project(engine: Engine, request: pytest.FixtureRequest) -> Iterator[Project]:
    """Everything of docker-compose.yml but the client, up and ready: hosts of their own, or one host."""
    project = Project(engine, request.param, free_port(), PACE_S)
    try:
        project.up()
        for service in project.stack.sidecars:
            until(lambda service=service: project.ready(service), READY_S, f"{service} is ready")  # type: ignore[misc]
        yield project
    finally:
        try:
            for service in (*project.stack.sidecars, "agent-b", "agent-c"):
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
