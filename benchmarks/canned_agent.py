"""An agent that costs next to nothing: canned answers over raw asyncio, no SDK, no JSON parsing.

Behind it the sidecar's own ceiling shows, and in front of it the load generator's. The message's text decides:

    steps=N   a task with N artifact chunks of 64 letters, then completed
    ask       a task that asks a question (input-required)
    hold      a task that works and never says more
    else      a Message

    python -m benchmarks.canned_agent --port P

JSON-RPC is at /rpc, the card at every GET. This file must not know how anything is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import uuid
from typing import cast

import orjson
import uvloop

ID = re.compile(rb'"id"\s*:\s*("[^"]*"|\d+)')
METHOD = re.compile(rb'"method"\s*:\s*"(\w+)"')
STEPS = re.compile(rb'"text"\s*:\s*"steps=(\d+)')
LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
AT_ONCE = 8
CONTEXT = "c7b29265-4077-41bb-b3a6-2b5ef0a29cfe"
DONE = "3f33f755-5dbb-4de9-b881-616bb2157eb5"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-store\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)


def task_of(task: str, state: str) -> dict[str, object]:
    return {"task": {"id": task, "contextId": CONTEXT, "status": {"state": f"TASK_STATE_{state}"}}}


def status_of(task: str, state: str, text: str = "") -> dict[str, object]:
    status: dict[str, object] = {"state": f"TASK_STATE_{state}", "timestamp": "2026-11-29T15:49:22.857Z"}
    if text:
        message = {"messageId": str(uuid.uuid4()), "role": "ROLE_AGENT", "parts": [{"text": text}]}
        status["message"] = message | {"taskId": task, "contextId": CONTEXT}
    return {"statusUpdate": {"taskId": task, "contextId": CONTEXT, "status": status}}


def chunk_of(task: str, *, append: bool) -> dict[str, object]:
    artifact = {"artifactId": "r", "name": "r", "parts": [{"text": "x" * 64}]}
    update: dict[str, object] = {"taskId": task, "contextId": CONTEXT, "artifact": artifact}
    return {"artifactUpdate": update | ({"append": True} if append else {})}


FINISHED = orjson.dumps(
    task_of(DONE, "COMPLETED")["task"]
    | {  # type: ignore[operator]
        "artifacts": [{"artifactId": "r", "name": "r", "parts": [{"text": "x" * 64}] * 3}],
        "history": [
            {"messageId": f"m{step}", "role": "ROLE_AGENT", "parts": [{"text": f"step {step}/3"}]}
            for step in range(4)
        ],
    }
)
REPLY = orjson.dumps(
    {
        "message": {
            "messageId": "a0e3297c-5c62-4dde-b1af-0123456789ab",
            "contextId": CONTEXT,
            "role": "ROLE_AGENT",
            "parts": [{"text": "echo: hello"}],
        }
    }
)


def answer(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return head + body


def card_of(port: int) -> bytes:
    interface = {"url": f"http://127.0.0.1:{port}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    text = ["text/plain"]
    card = {"name": "canned", "description": "canned", "version": "1", "supportedInterfaces": [interface]}
    rest = {"capabilities": {"streaming": True}, "defaultInputModes": text, "defaultOutputModes": text}
    return answer(orjson.dumps(card | rest | {"skills": []}))


class Canned(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, card: bytes) -> None:
        self._card = card
        self._received = b""
        self._room = asyncio.Event()
        self._room.set()
        self._streaming: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._streaming is not None:
            self._streaming.cancel()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = LENGTH.search(self._received, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            head, body = self._received[:end], self._received[end + 4 : whole]
            self._received = self._received[whole:]
            self._request(head, body)

    def _request(self, head: bytes, body: bytes) -> None:
        method = METHOD.search(body)
        if head.startswith(b"GET") or method is None:
            self._transport.write(self._card)
            return
        found = ID.search(body)
        before = b'{"jsonrpc":"2.0","id":%b,"result":' % (found[1] if found else b"1")
        if method[1] == b"SendStreamingMessage":
            self._streaming = asyncio.ensure_future(self._stream(before, body))
        elif method[1] == b"SendMessage":
            self._transport.write(answer(before + REPLY + b"}"))
        else:
            self._transport.write(answer(before + FINISHED + b"}"))

    async def _stream(self, before: bytes, body: bytes) -> None:
        def frame(event: bytes) -> bytes:
            data = b"data: %b%b}\n\n" % (before, event)
            return b"%x\r\n%b\r\n" % (len(data), data)

        write = self._transport.write
        task, steps = str(uuid.uuid4()), STEPS.search(body)
        write(STREAM_HEAD)
        if steps is None and b'"ask"' not in body and b'"hold"' not in body:
            write(frame(REPLY) + b"0\r\n\r\n")
            return
        opening = (task_of(task, "SUBMITTED"), status_of(task, "WORKING"))
        write(b"".join(frame(orjson.dumps(each)) for each in opening))
        if steps is not None:
            first, more = (frame(orjson.dumps(chunk_of(task, append=append))) for append in (False, True))
            for step in range(int(steps[1])):
                write(more if step else first)
                if step % AT_ONCE == AT_ONCE - 1:
                    await self._room.wait()
                    await asyncio.sleep(0)
            write(frame(orjson.dumps(status_of(task, "COMPLETED"))) + b"0\r\n\r\n")
        elif b'"ask"' in body:
            write(frame(orjson.dumps(status_of(task, "INPUT_REQUIRED", "which one?"))) + b"0\r\n\r\n")


async def serve(port: int) -> None:
    card = card_of(port)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Canned(card), "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    uvloop.run(serve(parser.parse_args().port))
