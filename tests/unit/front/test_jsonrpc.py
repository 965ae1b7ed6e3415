"""The envelope: what is a request, and what is said to what is none."""

from __future__ import annotations

import json

import pytest

from bridge.a2a.faults import A2AFault
from sidecar.front import jsonrpc


def request(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "GetTask", "id": 1} | members).encode()


def test_a_request() -> None:
    assert jsonrpc.parse(request(params={"id": "t"})) == (b"1", "GetTask", {"id": "t"})
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","method":"GetTask"}') == (b"null", "GetTask", {})
    assert jsonrpc.parse(request(params=None)).params is None


@pytest.mark.parametrize(
    "text",
    ['"a"', '"\\u00e9"', "1", "-1", "0", "18446744073709551616", "1" * 400, "1.5", "null", '""'],
)
def test_ids_keep_their_value(text: str) -> None:
    found = jsonrpc.parse(b'{"jsonrpc":"2.0","method":"m","id":%b}' % text.encode()).id
    assert json.loads(found) == json.loads(text)
    assert type(json.loads(found)) is type(json.loads(text))


@pytest.mark.parametrize(
    ("body", "number", "words"),
    [
        (b"", -32700, "Invalid JSON"),
        (b"{", -32700, "Invalid JSON"),
        (b"\xff\xfe", -32700, "Invalid JSON"),
        (b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"x":NaN}}', -32700, "Invalid JSON"),
        (b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"x":1e400}}', -32700, "Invalid JSON"),
        (b'{"jsonrpc":"2.0","method":"m","id":1,"params":{"x":"\\ud800"}}', -32700, "Invalid JSON"),
        (b"[" * 100_000, -32700, "Invalid JSON"),
        (b"[]", -32600, "object"),
        (b"[1]", -32600, "Batch"),
        (b"[{},{}]", -32600, "Batch"),
        (b"1", -32600, "object"),
        (b"null", -32600, "object"),
        (b'"x"', -32600, "object"),
        (b"{}", -32600, "jsonrpc"),
        (request(jsonrpc="1.0"), -32600, "jsonrpc"),
        (request(jsonrpc=2.0), -32600, "jsonrpc"),
        (request(method=""), -32600, "Method"),
        (request(method=1), -32600, "Method"),
        (request(id=True), -32600, "id"),
        (request(id={}), -32600, "id"),
        (request(id=[1]), -32600, "id"),
    ],
)
def test_what_is_no_request_is_told_why(body: bytes, number: int, words: str) -> None:
    with pytest.raises(jsonrpc.NotARequest) as raised:
        jsonrpc.parse(body)
    response = json.loads(jsonrpc.failure(raised.value.id, raised.value.fault))
    assert response["error"]["code"] == number
    assert words in response["error"]["message"]


def test_the_id_is_kept_where_it_could_be_read() -> None:
    with pytest.raises(jsonrpc.NotARequest) as raised:
        jsonrpc.parse(request(id="x", jsonrpc="1.0"))
    assert raised.value.id == b'"x"'


def test_a_result_is_spliced_in() -> None:
    wording = jsonrpc.wording(b'"a"')
    assert (wording.before, wording.after) == (b'{"jsonrpc":"2.0","id":"a","result":', b"}")
    assert wording.failure(A2AFault("TaskNotFound")).status == 200
