from __future__ import annotations

from typing import Any

import pytest

from bridge.a2a.extension import URI as DURABILITY
from sidecar.agent.card import Address, UnusableCard, read_card
from sidecar.errors import ConfigError


def card(*interfaces: dict[str, Any], **capabilities: Any) -> dict[str, Any]:
    return {"name": "x", "supportedInterfaces": list(interfaces), "capabilities": capabilities}


def interface(url: str, binding: str = "JSONRPC", version: str = "1.0", **more: str) -> dict[str, Any]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version, **more}


@pytest.mark.parametrize(
    ("url", "origin", "paths"),
    [
        ("http://h:9000", "http://h:9000", ["/.well-known/agent-card.json"]),
        ("http://h:9000/", "http://h:9000", ["/.well-known/agent-card.json"]),
        ("https://[::1]:9000", "https://[::1]:9000", ["/.well-known/agent-card.json"]),
        (
            "http://h/v3/a2a/x/",
            "http://h",
            ["/v3/a2a/x/.well-known/agent-card.json", "/.well-known/agent-card.json"],
        ),
    ],
)
def test_where_the_card_may_be(url: str, origin: str, paths: list[str]) -> None:
    address = Address.parse(url)
    assert (address.origin, address.card_paths()) == (origin, paths)


@pytest.mark.parametrize("url", ["", "h:9000", "ftp://h", "http://", "http://h:port", "http://[::1"])
def test_what_is_no_agent_url(url: str) -> None:
    with pytest.raises(ConfigError):
        Address.parse(url)


def test_the_first_json_rpc_1_0_interface_is_used_and_only_its_path() -> None:
    view = read_card(
        card(
            interface("grpc:1", "GRPC"),
            interface("http://a/old", version="0.3"),
            interface("https://container:1/a2a/jsonrpc?x=1", tenant="acme"),
            interface("http://b/second"),
        )
    )
    assert (view.rpc_path, view.tenant, view.streaming, view.durable) == (
        "/a2a/jsonrpc?x=1",
        "acme",
        False,
        False,
    )


@pytest.mark.parametrize("version", ["1.0", "1.0.3"])
def test_a_patch_of_1_0_is_1_0(version: str) -> None:
    assert read_card(card(interface("http://a", version=version))).rpc_path == "/"


def test_capabilities() -> None:
    extensions = [{"uri": "urn:other"}, {"uri": DURABILITY}, "odd", {"uri": 5}]
    view = read_card(card(interface("http://a/rpc"), streaming=True, extensions=extensions))
    assert (view.streaming, view.durable, view.extensions) == (True, True, ("urn:other", DURABILITY))


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"supportedInterfaces": 5},
        {"supportedInterfaces": [5, {}]},
        card(interface("http://a", version="2.0")),
        card(interface("http://a", "HTTP+JSON")),
        card(interface("http://[a/")),
    ],
)
def test_cards_that_are_none(odd: Any) -> None:
    with pytest.raises(UnusableCard):
        read_card(odd)


def test_odd_capabilities_count_as_none() -> None:
    assert not read_card({"supportedInterfaces": [interface("http://a")], "capabilities": 5}).streaming


def test_a_card_that_cannot_be_rewritten_for_clients_is_not_accepted() -> None:
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    with pytest.raises(UnusableCard, match="cannot be served"):
        read_card(card(interface("http://a/rpc")) | {"x": deep})
    odd = {"url": "http://[bad/", "protocolBinding": ["HTTP+JSON"]}
    assert read_card(card(interface("http://a/rpc"), odd)).rpc_path == "/rpc"
