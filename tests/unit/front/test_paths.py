"""Every spelling of a path has one plain form."""

from __future__ import annotations

import pytest

from sidecar.front.paths import plain, readings


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/rpc", "/rpc"), ("/rpc/", "/rpc"), ("//rpc", "/rpc"), ("/x/../rpc", "/rpc"), ("/./rpc/.", "/rpc"),
        ("/../../rpc", "/rpc"), ("/%72pc", "/rpc"), ("/x/%2e%2E%2frpc", "/rpc"), ("/%2572pc", "/rpc"),
        ("/x\\..\\rpc", "/rpc"), ("/rpc;v=1", "/rpc"), ("/", ""), ("", ""), ("/100%", "/100%"),
        ("/%2525252541", None),
    ],
)  # fmt: skip
def test_plain(path: str, found: str | None) -> None:
    assert plain(path) == found


def test_an_escaped_slash_may_be_a_character() -> None:
    assert list(readings("/tasks/a/b", "/tasks/a%2fb")) == ["/tasks/a/b", "/tasks/a_b"]
