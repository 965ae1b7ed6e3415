"""Sidecars that crash over and over, also while they start: in the end all of them agree that all is well."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Any

import httpx
import pytest

from bridge.handoff import Handoff
from tests.integration.stage import V1, SidecarProcess, Stage, message, wait_for
from tests.integration.test_takeover import as_if_nothing_had_happened, steps, whole

pytestmark = pytest.mark.chaos
CYCLES = 20
SEED = 20261130
PAUSE_S = 0.3  # a start takes half of it: some are killed before they are ready
IMPATIENT: dict[str, Any] = {"agent__absent_timeout_s": 0.5}  # a client that is refused is no fault here
TEXT = "steps=3 pace=0.02"


@pytest.mark.slow
async def test_case_26_twenty_cycles_of_crashes_of_three_in_five(stage: Stage) -> None:
    chance = random.Random(SEED)
    agents = [stage.agent("long") for _ in range(3)]
    sidecars = [stage.sidecar(each, name, **IMPATIENT) for each, name in zip(agents, "abc", strict=True)]
    everybody = [*sidecars, stage.gateway("g", **IMPATIENT), stage.gateway("h", **IMPATIENT)]
    await stage.ready()
    for _ in range(CYCLES):
        crashing = chance.sample(everybody, 3)
        asked = asyncio.gather(*(ask(stage, each) for each in everybody))
        await asyncio.sleep(chance.uniform(0, PAUSE_S))
        for each in crashing:
            each.kill()
        for each in crashing:
            each.start()
        await asked
    await stage.ready()
    for each in everybody:
        pages = [await stage.web.get(f"{each.control}/{page}") for page in ("healthz", "readyz")]
        assert [page.status_code for page in pages] == [200, 200], each.name
    accepted = await stage.task_ids()
    assert accepted, "nothing was at stake"
    await wait_for(lambda: all_over(stage, accepted), 20, "everything that was accepted ends")
    for each in everybody:
        seen = stage.send(each, TEXT)
        await seen.ended()
        as_if_nothing_had_happened(seen, steps(3), whole(3))
    await stage.verify()


async def ask(stage: Stage, at: SidecarProcess) -> None:
    """Begin a task there; while it still starts from the last crash it may say so, or not be there."""
    params = {**message(TEXT), "configuration": {"returnImmediately": True}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    with suppress(httpx.TransportError):
        answer = await stage.web.post(at.url + at.rpc_path, json=body, headers=V1, timeout=30)
        told = answer.status_code == 503 and "retry-after" in answer.headers
        assert told or "result" in answer.json() or answer.json()["error"]["code"] == -32603, answer.text


async def all_over(stage: Stage, tasks: list[str]) -> bool:
    for task in tasks:
        if Handoff.fold(task, await stage.journal(task)).terminal is None:
            return False
    return True
