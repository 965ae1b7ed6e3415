"""Repeats of answered messages: clients with the durability extension attach, for a while, by a random id."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from bridge.a2a.extension import URI
from tests.integration.stage import Stage, message

Json = dict[str, Any]


async def asked(stage: Stage, where: Any, params: Json, *, durable: bool) -> str:
    headers = {"A2A-Version": "1.0"} | ({"A2A-Extensions": URI} if durable else {})
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    answer = (await stage.web.post(where.url + where.rpc_path, json=body, headers=headers)).json()
    task: str = answer["result"]["task"]["id"]
    return task


@pytest.mark.parametrize(
    ("message_id", "durable", "attaches"),  # "": a random id
    [
        ("", True, True),  # case 43: the answer was written, but the client may not have read it
        ("", False, False),  # an answered id is free again (the TCK uses ids twice)
        ("1", True, False),  # anybody may say "1": it proves nothing where nothing authenticates callers
    ],
)
async def test_a_repeat_of_an_answered_message(
    stage: Stage, message_id: str, durable: bool, attaches: bool
) -> None:
    agent = stage.agent("long")
    a = stage.sidecar(agent)
    await stage.ready()
    params = message("steps=1 pace=0", messageId=message_id or str(uuid.uuid4()))
    first = await asked(stage, a, params, durable=durable)
    second = await asked(stage, a, params, durable=durable)
    assert (first == second) is attaches
    assert len(agent.journal()) == (1 if attaches else 2)


async def test_after_the_window_an_answered_id_is_free_again(stage: Stage) -> None:
    """The window's 10 minutes are 0.3 s here."""
    agent = stage.agent("long")
    a = stage.sidecar(agent, journal__idempotency_window_s=0.3)
    await stage.ready()
    params = message("steps=1 pace=0", messageId=str(uuid.uuid4()))
    first = await asked(stage, a, params, durable=True)
    await asyncio.sleep(0.5)
    assert await asked(stage, a, params, durable=True) != first
    assert len(agent.journal()) == 2
