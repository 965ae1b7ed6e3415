from __future__ import annotations

from bridge.a2a.extension import URI as DURABILITY
from sidecar.agent.headers import end_to_end, request_headers

OWN = {"Authorization": "Bearer own"}


def test_end_to_end_headers_travel_and_those_of_a_connection_do_not() -> None:
    given = {
        "authorization": "Bearer caller",
        "traceparent": "00-1",
        "x-custom": "ü",
        "Connection": "close, X-Hop",
        "x-hop": "1",
        "TE": "trailers",
        "Host": "sidecar",
        "Content-Length": "5",
        "Last-Event-ID": "7",
        "a2a-version": "0.3",
        "accept-encoding": "gzip",
        "x-bad": "a\r\nX-Evil: 1",
    }
    assert request_headers(given, durable=False, credentials=OWN) == {
        "authorization": "Bearer caller",
        "traceparent": "00-1",
        "x-custom": "ü",
        "User-Agent": "dhp-sidecar",
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        "A2A-Version": "1.0",
    }


def test_own_credentials_are_for_calls_that_bring_none() -> None:
    assert request_headers({}, durable=False, credentials=OWN)["Authorization"] == "Bearer own"


def test_extensions_of_the_client_and_of_the_agent_are_activated_once() -> None:
    given = {"a2a-extensions": f"urn:a, {DURABILITY},,urn:b"}
    sent = request_headers(given, durable=True, credentials={})
    assert sent["A2A-Extensions"] == f"urn:a, {DURABILITY}, urn:b"
    assert request_headers({}, durable=True, credentials={})["A2A-Extensions"] == DURABILITY
    assert "A2A-Extensions" not in request_headers({}, durable=False, credentials={})


def test_a_user_agent_of_the_caller_stays() -> None:
    sent = request_headers({"user-agent": "curl"}, durable=False, credentials={})
    assert [value for name, value in sent.items() if name.lower() == "user-agent"] == ["curl"]


def test_repeated_headers_stay_repeated() -> None:
    pairs = [("Set-Cookie", "a"), ("Set-Cookie", "b"), ("Keep-Alive", "5")]
    assert end_to_end(pairs) == pairs[:2]
