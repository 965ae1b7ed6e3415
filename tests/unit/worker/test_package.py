"""The package's doors: what it exports, what importing it costs, what a card says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from a2a.types import AgentCapabilities, AgentCard

import sidecar.worker
from bridge.a2a.extension import URI
from sidecar.worker import declare_durable


def test_importing_the_package_loads_neither_the_sdk_nor_a_server() -> None:
    code = "import sidecar.worker, sys, json; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(answer.stdout))
    assert "sidecar" in loaded
    assert not loaded & {"a2a", "google", "sqlalchemy", "uvicorn", "starlette", "aiohttp", "httpx", "orjson"}


def test_public_names_are_these() -> None:
    names = {"NOT_DONE", "DurableRun", "RunInfo", "UnknownOutcome", "declare_durable", "durable_run"}
    assert set(sidecar.worker.__all__) == names
    assert all(getattr(sidecar.worker, name) is not None for name in sidecar.worker.__all__)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = sidecar.worker.nonsense


def test_a_card_declares_the_extension_once() -> None:
    card = AgentCard(name="a", capabilities=AgentCapabilities(streaming=True))
    assert declare_durable(declare_durable(card)) is card
    assert [e.uri for e in card.capabilities.extensions] == [URI]
    assert card.capabilities.streaming
    assert not card.capabilities.extensions[0].required
