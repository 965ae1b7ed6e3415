"""An agent that answers, but not yet with A2A: no run is given up before it, and the others, had a fair chance."""

from __future__ import annotations

import asyncio

from tests.integration.raw_agent import RawAgent, Script
from tests.integration.raw_scripts import garbage, http_500
from tests.integration.scripted import (
    COMPLETED,
    NOT_FOUND,
    WORKING,
    Play,
    answer,
    chunk,
    in_turn,
    status,
    stream,
    task,
)  # fmt: skip
from tests.integration.stage import RAW_PATH, Stage, message

BEGUN = stream(task(WORKING), chunk("one ", append=False))
WHOLE = stream(task(WORKING), chunk("one ", append=False), chunk("two"), status(COMPLETED))
FORGOTTEN = answer(error=NOT_FOUND)


def loses_it_then(*scripts: Script) -> Play:
    """The first run is lost, and the agent knows nothing of it."""
    return Play(SendStreamingMessage=in_turn(BEGUN, *scripts), GetTask=FORGOTTEN, SubscribeToTask=FORGOTTEN)


async def test_an_agent_that_needs_a_while_after_its_restart_gets_it(stage: Stage) -> None:
    async with RawAgent(loses_it_then(http_500, http_500, http_500, WHOLE)) as agent:
        sidecar = stage.sidecar(agent.url)
        sidecar.rpc_path = RAW_PATH
        await stage.ready()
        loop = asyncio.get_running_loop()
        began = loop.time()
        answered = await stage.rpc(sidecar, "SendMessage", message("hello"))
        assert answered["task"]["status"]["state"] == COMPLETED
        # Its tries are no burst: something that starts up has seconds for it.
        assert loop.time() - began > 1.0
    await stage.verify()


async def test_where_one_agent_cannot_go_on_another_one_does(stage: Stage) -> None:
    async with RawAgent(loses_it_then(http_500)) as broken, RawAgent(Play(SendStreamingMessage=WHOLE)) as good:
        first = stage.sidecar(broken.url)
        first.rpc_path = RAW_PATH
        stage.sidecar(good.url)
        await stage.ready()
        answered = await stage.rpc(first, "SendMessage", message("hello"))
        assert answered["task"]["status"]["state"] == COMPLETED
        assert "".join(part["text"] for part in answered["task"]["artifacts"][0]["parts"]) == "one two"
        assert len([each for each in good.requests if each.rpc["method"] == "SendStreamingMessage"]) == 1
    await stage.verify()


async def test_a_first_run_that_leads_to_nothing_is_told_at_a_gateway_as_beside_the_agent(stage: Stage) -> None:
    for script in (http_500, garbage):
        async with RawAgent(script) as agent:
            gateway, sidecar = stage.gateway(), stage.sidecar(agent.url)
            gateway.rpc_path = sidecar.rpc_path = RAW_PATH
            await stage.ready()
            beside = await stage.rpc(sidecar, "SendMessage", message("hello"))
            assert beside["error"]["code"] == -32006
            assert await stage.rpc(gateway, "SendMessage", message("hello")) == beside
            assert len(agent.requests) == 2
            gateway.kill()
            sidecar.kill()
    await stage.verify()
