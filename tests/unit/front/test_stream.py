"""SSE frames as parsers of every kind read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.client.transports.http_helpers import parse_sse_stream

from sidecar.front.blocking import BlockingAnswer
from sidecar.front.errors import Failure
from sidecar.front.stream import KEEP_ALIVE, EventStream
from sidecar.records import Frame


class Recorder:
    """Stands for the server's ``send``."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(dict(message))

    @property
    def bodies(self) -> list[bytes]:
        return [each["body"] for each in self.messages if each["type"] == "http.response.body"]

    @property
    def ended(self) -> bool:
        return bool(self.messages) and not self.messages[-1].get("more_body", False)


def eager_parser(text: str) -> list[dict[str, str]]:
    """A parser with the flaw of case 59: at a blank line it dispatches what it has once an id was ever seen."""
    events: list[dict[str, str]] = []
    fields: dict[str, str] = {}
    seen_id = False
    for line in text.removesuffix("\n").split("\n"):
        if not line:
            if fields or seen_id:
                events.append(fields)
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
            seen_id = seen_id or name == "id"
    return events


async def recorded(*, pulses: int) -> bytes:
    send = Recorder()
    stream = EventStream(send, before=b'{"id":1,"result":', after=b"}", keep_alive_s=0)
    for batch in (
        [Frame(1, b'{"task":{}}', False)],
        [Frame(5, b'{"statusUpdate":"\xc3\xa9"}', False), Frame(6, b'{"a":1}', False)],
        [Frame(9, b'{"b":2}', True)],
    ):
        for _ in range(pulses):
            await stream.pulse()
        await stream.frames(batch)
    await stream.close()
    return b"".join(send.bodies)


EXPECTED = [
    '{"id":1,"result":{"task":{}}}',
    '{"id":1,"result":{"statusUpdate":"é"}}',
    '{"id":1,"result":{"a":1}}',
    '{"id":1,"result":{"b":2}}',
]


async def test_keep_alives_are_no_events_to_any_parser() -> None:
    """Case 59."""
    raw = await recorded(pulses=3)
    assert raw.count(KEEP_ALIVE) == 9
    assert b"\n\n:" in raw
    assert KEEP_ALIVE + b"\n" not in raw
    events = eager_parser(raw.decode())
    assert [(event["id"], event["data"]) for event in events] == list(zip("1569", EXPECTED, strict=True))


async def test_split_at_every_byte_the_events_are_the_same() -> None:
    """Case 61."""
    raw = await recorded(pulses=1)
    for at in range(1, len(raw)):

        async def halves(at: int = at) -> AsyncIterator[bytes]:
            yield raw[:at]
            yield raw[at:]

        response = httpx.Response(200, content=halves(), headers={"content-type": "text/event-stream"})
        assert [data async for _, data in parse_sse_stream(response)] == EXPECTED


async def test_a_batch_is_one_chunk() -> None:
    send = Recorder()
    stream = EventStream(send, before=b"", after=b"", keep_alive_s=1)
    await stream.frames([Frame(seq, b"{}", False) for seq in range(50)])
    assert len(send.bodies) == 1
    assert send.bodies[0].count(b"\n\n") == 50


@pytest.mark.parametrize("white", [b"\n", b"\r\n", b"\r"])
async def test_a_line_break_in_json_text_does_not_end_the_event(white: bytes) -> None:
    send = Recorder()
    stream = EventStream(send, before=b"", after=b"", keep_alive_s=1)
    await stream.frames([Frame(1, b'{"a":%b1}' % white, False)])
    assert send.bodies[0].split(b"\n")[1] == b'data: {"a":' + b" " * len(white) + b"1}"


async def test_the_response_starts_with_its_first_frame_and_an_error_before_that_is_plain_json() -> None:
    send = Recorder()
    stream = EventStream(send, before=b"", after=b"", keep_alive_s=60)
    assert 0 < await stream.pulse() <= 60
    assert send.messages == []
    await stream.fail(Failure(404, b'{"error":1}'))
    assert send.messages[0]["status"] == 404
    assert (b"content-type", b"application/json") in send.messages[0]["headers"]
    assert send.bodies == [b'{"error":1}']
    await stream.frames([Frame(1, b"{}", False)])
    assert send.ended
    assert len(send.bodies) == 1


async def test_an_error_after_the_start_is_a_last_frame_without_id() -> None:
    send = Recorder()
    stream = EventStream(send, before=b"", after=b"", keep_alive_s=0)
    await stream.pulse()
    await stream.fail(Failure(404, b'{"error":1}'))
    assert send.messages[0]["headers"][0] == (b"content-type", b"text/event-stream")
    assert send.bodies == [KEEP_ALIVE, b'event: error\ndata: {"error":1}\n\n']
    assert send.ended
    await stream.pulse()
    assert len(send.bodies) == 2


async def test_no_keep_alive_while_bytes_are_on_their_way() -> None:
    """A slow client is not silent, and nothing may come between the start and its first frame."""
    gate, sent = asyncio.Event(), []

    async def slow(message: Any) -> None:
        await gate.wait()
        sent.append(message)

    stream = EventStream(slow, before=b"", after=b"", keep_alive_s=0)
    writing = asyncio.ensure_future(stream.frames([Frame(1, b"{}", False)]))
    await asyncio.sleep(0)
    await stream.pulse()
    gate.set()
    await writing
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]


async def test_a_blocking_answer_trickles_spaces_before_its_value() -> None:
    send = Recorder()
    answer = BlockingAnswer(send, keep_alive_s=0)
    await answer.pulse()
    await answer.pulse()
    await answer.finish(b'{"result":1}')
    await answer.pulse()
    assert send.bodies == [b" ", b" ", b'{"result":1}']
    assert send.ended
    names = [name for name, _ in send.messages[0]["headers"]]
    assert b"content-length" not in names


async def test_a_quick_answer_is_an_ordinary_response() -> None:
    send = Recorder()
    answer = BlockingAnswer(send, keep_alive_s=60)
    assert 0 < await answer.pulse() <= 60
    await answer.finish(b"{}")
    assert (b"content-length", b"2") in send.messages[0]["headers"]
    assert send.bodies == [b"{}"]


@pytest.mark.parametrize(("status", "whole"), [(200, True), (404, False)])
async def test_an_error_after_the_start_stands_in_the_body_or_breaks_it_off(status: int, whole: bool) -> None:
    """Under a 200 that is a lie, no client may take the error for a result."""
    send = Recorder()
    answer = BlockingAnswer(send, keep_alive_s=0)
    await answer.pulse()
    assert await answer.fail(Failure(status, b'{"error":1}')) is whole
    await answer.pulse()
    assert send.messages[0]["status"] == 200
    assert send.bodies == [b" ", b'{"error":1}']
    assert send.ended is whole


async def test_a_quick_error_has_its_status_and_is_plain_json() -> None:
    send = Recorder()
    answer = BlockingAnswer(send, keep_alive_s=60, media=(b"content-type", b"application/a2a+json"))
    assert await answer.fail(Failure(404, b'{"error":1}'))
    assert send.messages[0]["status"] == 404
    assert (b"content-type", b"application/json") in send.messages[0]["headers"]
    assert send.ended
