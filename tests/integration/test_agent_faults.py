"""What agents do wrong on the wire, and what the runtime is told."""

from __future__ import annotations

import asyncio

import psutil
import pytest

from sidecar.agent import AgentSettings, HttpAgentLink
from sidecar.errors import AgentError, AgentUnavailable
from sidecar.ports import AgentLink, EndKind
from sidecar.records import Json
from tests.integration import raw_scripts as scripts
from tests.integration.agent_side import HELLO, PARAMS, Linked, drain, until
from tests.integration.raw_agent import Exchange, RawAgent, Script
from tests.integration.raw_scripts import COMPLETED, WORKING, artifact


@pytest.mark.parametrize(
    ("script", "events", "kind"),
    [
        (scripts.good, [WORKING, HELLO, COMPLETED], EndKind.CLEAN),
        (scripts.http_500, [], EndKind.HTTP_FAILURE),
        (scripts.garbage, [], EndKind.MALFORMED),
        (scripts.garbage_event, [WORKING], EndKind.MALFORMED),
        (scripts.half_json, [], EndKind.MALFORMED),
        (scripts.half_event, [WORKING], EndKind.MALFORMED),
        (scripts.reset, [WORKING], EndKind.BROKEN),
        (scripts.reset_at_once, [], EndKind.BROKEN),
        (scripts.hang_up, [WORKING], EndKind.BROKEN),
        (scripts.empty_200, [], EndKind.MALFORMED),
        (scripts.empty_stream, [], EndKind.CLEAN),
        (scripts.clean_end, [WORKING], EndKind.CLEAN),
        (scripts.endless_line, [WORKING], EndKind.TOO_LARGE),
        (scripts.rpc_error, [], EndKind.RPC_FAILURE),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.parametrize("subscribe", [False, True], ids=["start", "subscribe"])
async def test_every_way_to_end(script: Script, events: list[Json], kind: EndKind, subscribe: bool) -> None:
    async with Linked(script) as (link, agent):
        typed: AgentLink = link
        run = await (typed.subscribe("t1") if subscribe else typed.start(PARAMS, {}))
        assert await drain(run) == events
        assert run.end is not None
        assert run.end.kind is kind
        assert agent.requests[0].rpc["method"] == ("SubscribeToTask" if subscribe else "SendStreamingMessage")
        await run.close()
        assert run.end.kind is kind


async def test_a_failure_says_its_status_and_at_most_a_kilobyte() -> None:
    async with Linked(scripts.http_500) as (link, _):
        run = await link.start(PARAMS, {})
        await drain(run)
        assert run.end is not None
        assert (run.end.status, run.end.detail[:5], len(run.end.detail)) == (500, "boom ", 1024)


async def test_a_json_rpc_error_under_a_4xx_status_is_understood() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(exchange.frame(error={"code": -32001, "message": "no"}), 404)

    async with Linked(script) as (link, _):
        run = await link.start(PARAMS, {})
        await drain(run)
        assert run.end is not None
        assert (run.end.kind, run.end.status) == (EndKind.RPC_FAILURE, 404)
        assert await link.get("t1") is None


async def test_a_result_as_plain_json_is_one_event() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(exchange.frame(WORKING))

    async with Linked(script) as (link, _):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [WORKING]
        assert run.end is not None
        assert run.end.kind is EndKind.CLEAN


async def test_an_error_frame_after_events_ends_the_run() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(WORKING)
        await exchange.event(error={"code": -32603, "message": "boom"})
        await exchange.event(COMPLETED)

    async with Linked(script) as (link, _):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [WORKING]
        assert run.end is not None
        assert run.end.error == {"code": -32603, "message": "boom"}


async def test_an_event_without_its_last_blank_line_counts() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.chunk(b"data: " + exchange.frame(WORKING))
        await exchange.end()

    async with Linked(script) as (link, _):
        run = await link.start(PARAMS, {})
        assert await drain(run) == [WORKING]
        assert run.end is not None
        assert run.end.kind is EndKind.CLEAN


async def test_compressed_answers_are_refused() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head(Content_Encoding="gzip")
        await exchange.end()

    async with Linked(script) as (link, agent):
        run = await link.start(PARAMS, {})
        assert await drain(run) == []
        assert run.end is not None
        assert run.end.kind is EndKind.MALFORMED
        assert agent.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [63_000, 65_000, 513_000, 1_100_000, 10_000_000])
async def test_case_63_large_events(size: int) -> None:
    big = artifact("x" * size)

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(big)
        await exchange.event(COMPLETED)
        await exchange.end()

    async with Linked(script) as (link, _):
        assert await drain(await link.start(PARAMS, {})) == [big, COMPLETED]


async def test_case_63_one_event_above_the_limit_fails_one_run_only() -> None:
    async def script(exchange: Exchange) -> None:
        await (scripts.endless_line if exchange.number == 0 else scripts.good)(exchange)

    async with Linked(script, AgentSettings(event_bytes_max=2**16)) as (link, _):
        first = await link.start(PARAMS, {})
        await drain(first)
        assert first.end is not None
        assert first.end.kind is EndKind.TOO_LARGE
        assert await drain(await link.start(PARAMS, {})) == [WORKING, HELLO, COMPLETED]


async def test_case_64_an_endless_line_does_not_fill_memory_and_is_hung_up_on() -> None:
    async with Linked(scripts.endless_line) as (link, agent):
        before = psutil.Process().memory_info().rss
        run = await link.start(PARAMS, {})
        await drain(run)
        assert psutil.Process().memory_info().rss - before < 64 * 2**20
        await until(lambda: agent.open == 0)


async def test_an_endless_plain_answer_is_bounded_too() -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.head(200, "application/json")
        while not exchange.writer.is_closing():
            await exchange.chunk(b" " * 2**16)

    async with Linked(script, AgentSettings(event_bytes_max=2**20)) as (link, _):
        run = await link.start(PARAMS, {})
        await drain(run)
        assert run.end is not None
        assert run.end.kind is EndKind.TOO_LARGE
        with pytest.raises(AgentError, match="too_large"):
            await link.get("t1")


async def test_what_arrived_before_a_break_is_delivered_though_nobody_was_reading() -> None:
    sent = asyncio.Event()

    async def script(exchange: Exchange) -> None:
        await exchange.head()
        await exchange.event(WORKING)
        await asyncio.sleep(0.05)
        for number in range(100):
            await exchange.event(artifact(str(number)))
        exchange.writer.close()
        sent.set()

    async with Linked(script) as (link, _):
        run = await link.start(PARAMS, {})
        batches = run.batches()
        assert await anext(batches) == [WORKING]
        await sent.wait()
        await asyncio.sleep(0.1)  # the break has been seen by now
        rest = [event async for batch in batches for event in batch]
        assert rest == [artifact(str(number)) for number in range(100)]
        assert run.end is not None
        assert run.end.kind is EndKind.BROKEN


async def test_an_absent_agent_never_saw_the_request() -> None:
    async with RawAgent(scripts.good) as agent:
        url = agent.url
    link = HttpAgentLink(url)
    for run in (await link.start(PARAMS, {}), await link.subscribe("t1")):
        assert await drain(run) == []
        assert run.end is not None
        assert run.end.kind is EndKind.REFUSED
    for ask in (link.get, link.cancel):
        with pytest.raises(AgentUnavailable):
            await ask("t1")
    await link.close()
