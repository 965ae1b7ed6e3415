"""Requests to the agent: what they carry, and that every one of them can be given up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sidecar.agent import AgentSettings
from sidecar.errors import AgentError, AgentTimeout
from sidecar.ports import AgentRun, EndKind
from sidecar.records import Json
from tests.integration import raw_scripts as scripts
from tests.integration.agent_side import HELLO, PARAMS, Linked, drain, until
from tests.integration.raw_agent import Exchange, Script
from tests.integration.raw_scripts import COMPLETED, WORKING


async def test_get_and_cancel() -> None:
    async def script(exchange: Exchange) -> None:
        match exchange.rpc:
            case {"method": "CancelTask", "params": {"id": "finished"}}:
                await exchange.answer(exchange.frame(error={"code": -32002, "message": "not cancelable"}))
            case {"params": {"id": "absent"}}:
                await scripts.rpc_error(exchange)
            case {"params": {"id": "broken"}}:
                exchange.reset()
            case {"params": {"id": "odd"}}:
                await exchange.answer(exchange.frame(error={"code": -32603, "message": "odd"}))
            case {"params": {"id": "slow"}}:
                await scripts.no_answer(exchange)
            case _:
                await scripts.good(exchange)

    async with Linked(script, AgentSettings(call_timeout_s=0.2)) as (link, agent):
        assert await link.get("t1") == WORKING["task"]
        assert await link.cancel("t1") == WORKING["task"]
        assert await link.get("absent") is None
        assert await link.cancel("absent") is None
        assert await link.cancel("finished") is None
        for task, error in (("odd", AgentError), ("slow", AgentTimeout), ("broken", AgentError)):
            with pytest.raises(error):
                await link.get(task)
        assert [each.rpc["params"]["id"] for each in agent.requests].count("broken") == 2  # repeated once


async def test_what_the_agent_is_sent() -> None:
    extension = {"uri": "urn:dhp:a2a:durable-handoff:v1"}
    capabilities: dict[str, Any] = {"capabilities": {"streaming": True, "extensions": [extension]}}
    params = {**PARAMS, "metadata": {"big": 2**70, "ü": "\U0001f600"}, "unknown": {}}
    async with Linked(scripts.good, **capabilities) as (link, agent):
        await drain(await link.start(params, {"Authorization": "Bearer c", "A2A-Extensions": "urn:a"}))
        (request,) = agent.requests
        assert (request.method, request.path) == ("POST", "/rpc")
        assert request.headers["host"] == agent.url.removeprefix("http://")
        assert request.headers["a2a-version"] == "1.0"
        assert request.headers["a2a-extensions"] == "urn:a, urn:dhp:a2a:durable-handoff:v1"
        assert request.headers["authorization"] == "Bearer c"
        assert json.loads(request.body)["params"] == params


@pytest.mark.parametrize("script", [scripts.silent, scripts.no_answer])
async def test_close_ends_a_run_that_is_silent_and_one_that_was_never_answered(script: Script) -> None:
    async with Linked(script) as (link, agent):
        run = await link.start(PARAMS, {})
        reading = asyncio.create_task(drain(run))
        await until(lambda: agent.requests)
        await run.close()
        await run.close()
        await asyncio.wait_for(reading, 1)
        assert run.end is not None
        assert run.end.kind is EndKind.CLOSED
        await until(lambda: agent.open == 0)


async def test_a_cancelled_reader_leaves_no_connection() -> None:
    async with Linked(scripts.silent) as (link, agent):
        run = await link.start(PARAMS, {})
        reading = asyncio.create_task(drain(run))
        await until(lambda: len(agent.requests) == 1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await until(lambda: agent.open == 0)
        assert run.end is not None
        assert run.end.kind is EndKind.CLOSED


async def test_case_75_a_small_pool_survives_a_thousand_aborted_runs() -> None:
    async with Linked(scripts.silent, AgentSettings(connections_max=4), card=True) as (link, agent):
        assert await link.refresh()
        for number in range(250):
            runs = [await link.start(PARAMS, {}) for _ in range(4)]
            await asyncio.gather(*(abort(run, number % 5) for run in runs))
        assert len(agent.requests) > 300  # many did get through to the agent
        await until(lambda: agent.open == 0)
        agent.script = scripts.good
        assert await drain(await link.start(PARAMS, {}), 2) == [WORKING, HELLO, COMPLETED]


async def abort(run: AgentRun, phase: int) -> None:
    if phase == 0:
        await run.close()
    elif phase == 1:
        await asyncio.sleep(0)
        await run.close()
    elif phase == 2:  # the reader is cancelled, nobody closes
        with pytest.raises(TimeoutError):
            await drain(run, 0.002)
    else:
        batches: AsyncIterator[list[Json]] = run.batches()
        assert await anext(batches) == [WORKING]
        await (run.close() if phase == 3 else batches.aclose())  # type: ignore[attr-defined]
