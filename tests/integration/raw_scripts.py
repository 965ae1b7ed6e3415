"""What the fake agent can do wrong (and right): one short script each, listed in ``SCRIPTS``."""

from __future__ import annotations

import asyncio

from tests.integration.raw_agent import Exchange, Json, Script

WORKING: Json = {"task": {"id": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_WORKING"}}}
COMPLETED: Json = {
    "statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": "TASK_STATE_COMPLETED"}}
}


def artifact(text: str, *, append: bool = True) -> Json:
    part = {"artifactId": "a", "name": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "t1", "contextId": "c1", "artifact": part, "append": append}}


async def good(exchange: Exchange) -> None:
    """A whole run, or the answer that the method deserves."""
    match exchange.rpc["method"]:
        case "SendStreamingMessage" | "SubscribeToTask":
            await exchange.head()
            for event in (WORKING, artifact("hello", append=False), COMPLETED):
                await exchange.event(event)
            await exchange.end()
        case "SendMessage":
            await exchange.answer(exchange.frame(WORKING))
        case _:
            await exchange.answer(exchange.frame(WORKING["task"]))


async def http_500(exchange: Exchange) -> None:
    await exchange.answer(b"boom " * 1000, 500, "text/plain")


async def garbage(exchange: Exchange) -> None:
    await exchange.write(b"\x00\x01 this is not HTTP \xff\r\n\r\n")


async def garbage_event(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(WORKING)
    await exchange.chunk(b"data: <html>\n\n")
    await exchange.end()


async def half_json(exchange: Exchange) -> None:
    """The answer ends, cleanly, in the middle of a JSON document."""
    body = exchange.frame(WORKING)
    await exchange.answer(body[: len(body) // 2])


async def half_event(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(WORKING)
    await exchange.chunk(b'data: {"jsonrpc": "2.0", "id": 1, "resu')
    await exchange.end()


async def reset(exchange: Exchange) -> None:
    """A break after the first event."""
    await exchange.head()
    await exchange.event(WORKING)
    await asyncio.sleep(0.05)
    exchange.reset()


async def reset_at_once(exchange: Exchange) -> None:
    exchange.reset()


async def hang_up(exchange: Exchange) -> None:
    """FIN in the middle of a chunked body, as when a process is killed."""
    await exchange.head()
    await exchange.event(WORKING)


async def empty_200(exchange: Exchange) -> None:
    await exchange.answer(b"")


async def empty_stream(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.end()


async def clean_end(exchange: Exchange) -> None:
    """The stream ends without a terminal state."""
    await exchange.head()
    await exchange.event(WORKING)
    await exchange.end()


async def endless_line(exchange: Exchange) -> None:
    await exchange.head()
    await exchange.event(WORKING)
    await exchange.chunk(b"data: ")
    while not exchange.writer.is_closing():
        await exchange.chunk(b"x" * 2**18)


async def rpc_error(exchange: Exchange) -> None:
    """A refusal as plain JSON to whatever was asked."""
    await exchange.answer(exchange.frame(error={"code": -32001, "message": "Task not found"}))


async def late_refusal(exchange: Exchange) -> None:
    """A refusal for which clients had to wait."""
    await asyncio.sleep(1)
    await exchange.answer(exchange.frame(error={"code": -32004, "message": "Not on Sundays"}))


async def silent(exchange: Exchange) -> None:
    """The first event, then nothing."""
    await exchange.head()
    await exchange.event(WORKING)
    await asyncio.Event().wait()


async def no_answer(exchange: Exchange) -> None:
    await asyncio.Event().wait()


SCRIPTS: dict[str, Script] = {
    each.__name__: each
    for each in (
        good,
        http_500,
        garbage,
        garbage_event,
        half_json,
        half_event,
        reset,
        reset_at_once,
        hang_up,
        empty_200,
        empty_stream,
        clean_end,
        endless_line,
        rpc_error,
        late_refusal,
        silent,
        no_answer,
    )
}
