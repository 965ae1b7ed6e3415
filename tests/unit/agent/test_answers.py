from __future__ import annotations

import socket
from typing import Any

import aiohttp
import pytest
from aiohttp.http_exceptions import HttpProcessingError

from sidecar.agent.answers import decode, end_of, events_of, is_event, result_of
from sidecar.ports import EndKind, RunEnd

EVENT = b'{"jsonrpc":"2.0","id":1,"result":{"task":{"id":"t"}}}'


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (aiohttp.ConnectionTimeoutError("t"), EndKind.REFUSED),
        (aiohttp.InvalidURL("x"), EndKind.REFUSED),
        (ValueError("a newline in a header"), EndKind.REFUSED),
        (aiohttp.ServerDisconnectedError(), EndKind.BROKEN),
        (aiohttp.ClientPayloadError("x"), EndKind.BROKEN),
        (ConnectionResetError(104, "reset"), EndKind.BROKEN),
        (HttpProcessingError(message="bad"), EndKind.MALFORMED),
    ],
)
def test_faults_are_told_apart(fault: Exception, kind: EndKind) -> None:
    assert end_of(fault).kind is kind
    assert type(fault).__name__ in end_of(fault).detail


async def test_a_connection_that_was_not_had_is_told_in_words() -> None:
    with socket.socket() as nobody:  # bound, not listening: it refuses
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        async with aiohttp.ClientSession() as session:
            for host, said in (
                ("127.0.0.1", f"connection refused by 127.0.0.1:{port}"),
                ("no-such-host.invalid", f"no connection to no-such-host.invalid:{port}: "),
            ):
                with pytest.raises(aiohttp.ClientError) as found:
                    await session.get(f"http://{host}:{port}/")
                end = end_of(found.value)
                assert end.kind is EndKind.REFUSED
                assert end.detail.startswith(said)
                assert "Client" not in end.detail


@pytest.mark.parametrize(
    ("result", "is_one"),
    [
        ({"task": {}}, True),
        ({"message": {}, "unknown": 1}, True),
        ({"task": {}, "message": None}, True),
        ({"task": {}, "message": {}}, False),
        ({"task": 5}, False),
        ({"task": None}, False),
        ({"unknown": {}}, False),
        ({}, False),
    ],
)
def test_what_a_stream_response_is(result: dict[str, Any], is_one: bool) -> None:
    assert is_event(result) is is_one


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}', EndKind.RPC_FAILURE),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1},"result":{"task":{}}}', EndKind.RPC_FAILURE),
        (b'{"jsonrpc":"2.0","id":1}', EndKind.MALFORMED),
        (b'{"result":[1]}', EndKind.MALFORMED),
        (b'{"result":{"x":{}}}', EndKind.MALFORMED),
        (b'{"error":"text"}', EndKind.MALFORMED),
        (b"[]", EndKind.MALFORMED),
        (b"null", EndKind.MALFORMED),
        (b"<html>", EndKind.MALFORMED),
    ],
)
def test_events_before_a_bad_answer_are_kept(payload: bytes, kind: EndKind) -> None:
    events, end = events_of([EVENT, payload, EVENT])
    assert events == [{"task": {"id": "t"}}]
    assert end is not None
    assert end.kind is kind


def test_an_error_of_null_is_none() -> None:
    events, end = events_of([b'{"jsonrpc":"2.0","id":1,"error":null,"result":{"task":{"id":"t"}}}'])
    assert (events, end) == ([{"task": {"id": "t"}}], None)


def test_case_103_numbers_arrive_exactly() -> None:
    number = 2**70 + 1
    events, _ = events_of([b'{"result":{"task":{"id":"t","metadata":{"n":%d,"m":9007199254740993}}}}' % number])
    assert events[0]["task"]["metadata"] == {"n": number, "m": 9007199254740993}


def test_details_are_short() -> None:
    end = decode(b"x" * 10_000)
    assert isinstance(end, RunEnd)
    assert len(end.detail) < 400
    assert result_of(end) is end
