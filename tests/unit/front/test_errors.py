"""What clients are told, by where an error comes from."""

from __future__ import annotations

import json
import logging

import pytest

from bridge.a2a.faults import A2AFault
from sidecar.errors import RpcError, StoreUnavailable
from sidecar.front.errors import error_of


def test_errors_by_their_origin(caplog: pytest.LogCaptureFixture) -> None:
    assert error_of(A2AFault("TaskNotFound"))["code"] == -32001
    assert error_of(RpcError(-5, "as it was", {"any": 1})) == {
        "code": -5,
        "message": "as it was",
        "data": {"any": 1},
    }
    assert "data" not in error_of(RpcError(-5, "as it was"))
    ours = error_of(StoreUnavailable("busy"))
    assert (ours["code"], ours["message"]) == (-32603, "Internal error: busy")
    assert ours["data"][0]["metadata"] == {"code": "store_unavailable", "retryable": "true"}
    with caplog.at_level(logging.ERROR):
        assert "secret" not in json.dumps(error_of(ValueError("secret")))
    assert "secret" in caplog.text
