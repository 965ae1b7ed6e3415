"""Agents without streams, scripted: what real ones would need luck for. And cards that are hard to find."""

from __future__ import annotations

import asyncio
import json

import pytest

from sidecar.agent import AgentSettings, HttpAgentLink
from sidecar.ports import EndKind
from sidecar.records import Json
from tests.integration import raw_scripts as scripts
from tests.integration.agent_side import PARAMS, Linked, drain, until
from tests.integration.raw_agent import Exchange, RawAgent, Script
from tests.integration.raw_scripts import WORKING

FAST = AgentSettings(poll_min_s=0.01, poll_max_s=0.05, call_timeout_s=0.1, card_timeout_s=0.2)


def task(state: str, note: str = "") -> Json:
    status = {"state": f"TASK_STATE_{state}", "note": note}
    return {"id": "t1", "contextId": "c1", "status": status}


async def test_return_immediately_is_asked_for_and_the_rest_of_the_configuration_kept() -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.rpc["method"] == "SendMessage":
            await exchange.answer(exchange.frame({"task": task("WORKING")}))
        else:
            await exchange.answer(exchange.frame(task("COMPLETED")))

    async with Linked(script, FAST, streaming=False) as (link, agent):
        run = await link.start({**PARAMS, "configuration": {"historyLength": 3}}, {"X-A": "1"})
        assert await drain(run) == [{"task": task("WORKING")}, {"task": task("COMPLETED")}]
        first, second = agent.requests
        assert first.rpc["params"]["configuration"] == {"historyLength": 3, "returnImmediately": True}
        assert second.rpc["params"] == {"id": "t1"}
        assert second.headers["x-a"] == "1"


async def test_an_agent_that_blocks_anyway_is_waited_for() -> None:
    async def script(exchange: Exchange) -> None:
        await asyncio.sleep(0.4)  # longer than the call timeout, which is for questions, not for work
        await exchange.answer(exchange.frame({"task": task("COMPLETED")}))

    async with Linked(script, FAST, streaming=False) as (link, _):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [{"task": task("COMPLETED")}]


@pytest.mark.parametrize(
    "result", [{"message": {"messageId": "r", "role": "ROLE_AGENT"}}, {"task": task("INPUT_REQUIRED")}]
)
async def test_a_reply_and_a_question_end_a_run_at_once(result: Json) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(exchange.frame(result))

    async with Linked(script, FAST, streaming=False) as (link, agent):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [result]
        assert run.end is not None
        assert run.end.kind is EndKind.CLEAN
        assert len(agent.requests) == 1


async def test_unchanged_snapshots_slow_answers_and_auth_required_do_not_end_a_run() -> None:
    answers = [*[task("WORKING")] * 3, None, task("AUTH_REQUIRED"), task("WORKING", "2"), task("COMPLETED")]

    async def script(exchange: Exchange) -> None:
        answer = answers[exchange.number]
        if answer is None:
            await scripts.no_answer(exchange)
        else:
            await exchange.answer(exchange.frame({"task": answer} if exchange.number == 0 else answer))

    async with Linked(script, FAST, streaming=False) as (link, _):
        run = await link.start(PARAMS, {})
        wanted = [task("WORKING"), task("AUTH_REQUIRED"), task("WORKING", "2"), task("COMPLETED")]
        assert await drain(run) == [{"task": each} for each in wanted]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"result": {"status": {}}}, EndKind.MALFORMED),
        ({"result": {"task": {"id": ""}}}, EndKind.MALFORMED),
        ({"error": {"code": -32001, "message": "gone"}}, EndKind.RPC_FAILURE),
    ],
)
@pytest.mark.parametrize("when", [0, 1])
async def test_bad_answers(answer: Json, kind: EndKind, when: int) -> None:
    async def script(exchange: Exchange) -> None:
        if exchange.number < when:
            await exchange.answer(exchange.frame(WORKING))
        else:
            await exchange.answer(json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode())

    async with Linked(script, FAST, streaming=False) as (link, _):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [WORKING] * when
        assert run.end is not None
        assert run.end.kind is kind


@pytest.mark.parametrize("script", [scripts.good, scripts.no_answer])
async def test_close_ends_a_polled_run_while_it_sleeps_and_while_it_asks(script: Script) -> None:
    async with Linked(script, AgentSettings(poll_min_s=30, poll_max_s=30), streaming=False) as (link, agent):
        run = await link.start(PARAMS, {})
        reading = asyncio.create_task(drain(run))
        await until(lambda: agent.requests)
        await asyncio.sleep(0.02)
        await run.close()
        await asyncio.wait_for(reading, 1)
        assert run.end is not None
        assert run.end.kind is EndKind.CLOSED


async def test_case_97_the_card_of_an_agent_below_a_path_may_be_at_the_origin() -> None:
    async with RawAgent(scripts.good) as agent:
        for url in (agent.url, agent.url + "/v3/a2a/x/"):
            link = HttpAgentLink(url)
            assert await link.refresh()
            await link.close()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"supportedInterfaces": []}, "no JSON-RPC 1.0 interface"),
        ({"filler": "x" * 2**21}, "larger than"),
    ],
)
async def test_unusable_cards_say_why(more: Json, reason: str) -> None:
    async with RawAgent(scripts.good, **more) as agent:
        link = HttpAgentLink(agent.url)
        assert not await link.refresh()
        assert reason in link.reason
        await link.close()


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (scripts.http_500, "answers 500"),
        (scripts.garbage, "cannot be read"),
        (scripts.reset_at_once, "cannot be read"),
        (scripts.empty_200, "not JSON"),
        (scripts.no_answer, "does not answer"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_agents_without_a_card_say_why(script: Script, reason: str) -> None:
    async with RawAgent(script, card=False) as agent:
        link = HttpAgentLink(agent.url, FAST)
        assert not await link.refresh()
        assert reason in link.reason
        run = await link.start(PARAMS, {})
        assert run.end is not None
        assert run.end.kind is EndKind.REFUSED
        await link.close()
