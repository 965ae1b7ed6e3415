"""A rewritten card leads nowhere but through the sidecar."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bridge.a2a import extension
from bridge.a2a.card import Interface, bypass, card_paths, interfaces, public_url_of, rewrite

Json = dict[str, Any]
PUBLIC = "https://gw:8470"


def interface(url: str, binding: str = "JSONRPC", version: str = "1.0") -> Json:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version}


def card(*listed: Json, **more: Any) -> Json:
    return {"name": "a", "supportedInterfaces": list(listed), "capabilities": {"streaming": True}, **more}


def urls_in(value: Any) -> list[str]:
    """Every URL anywhere in a card."""
    if isinstance(value, dict):
        return [url for each in value.values() for url in urls_in(each)]
    if isinstance(value, list):
        return [url for each in value for url in urls_in(each)]
    return [value] if isinstance(value, str) and "://" in value else []


def test_only_what_is_spoken_is_listed() -> None:
    """Case 95."""
    agent = card(
        interface("http://h:1/rpc"),
        interface("http://h:1/rest", "HTTP+JSON"),
        interface("h:2", "GRPC"),
        interface("http://h:1/rpc", version="0.3"),
        url="http://h:1/rpc",
        preferredTransport="JSONRPC",
        protocolVersion="0.3.0",
        additionalInterfaces=[{"url": "http://h:1/rest", "transport": "HTTP+JSON"}],
    )
    before = copy.deepcopy(agent)
    found = rewrite(agent, PUBLIC)
    assert found.card["supportedInterfaces"] == [
        interface(f"{PUBLIC}/rpc"),
        interface(f"{PUBLIC}/rest", "HTTP+JSON"),
    ]
    assert urls_in(found.card) == [f"{PUBLIC}/rpc", f"{PUBLIC}/rest"]
    assert (found.rpc_paths, found.rest_paths) == (("/rpc",), ("/rest",))
    assert {(each.binding, each.version) for each in found.dropped} == {
        ("GRPC", "1.0"),
        ("JSONRPC", "0.3"),
        ("HTTP+JSON", "0.3"),
    }
    assert agent == before
    assert not found.signature_stripped


@pytest.mark.parametrize(
    ("public", "url", "expected", "path"),
    [
        ("https://gw", "http://h:1/rpc", "https://gw/rpc", "/rpc"),
        ("https://gw/", "http://h:1/rpc/", "https://gw/rpc/", "/rpc"),
        ("https://gw", "http://h:1", "https://gw/", ""),
        ("https://gw", "http://h:1/", "https://gw/", ""),
        ("https://gw/a2a/tick", "http://h:1/a2a/tock", "https://gw/a2a/tick/a2a/tock", "/a2a/tock"),
        ("https://gw/a2a/tick/", "http://h:1/a2a/tock/", "https://gw/a2a/tick/a2a/tock/", "/a2a/tock"),
        ("https://gw/tick", "https://gw/tick/rpc", "https://gw/tick/rpc", "/rpc"),
        ("https://gw/tick", "https://gw/tick", "https://gw/tick", ""),
        ("https://gw/tick", "https://gw/tick?x=1", "https://gw/tick?x=1", ""),
        ("https://gw/tick", "https://gw/ticktock", "https://gw/tick/ticktock", "/ticktock"),
        ("https://gw", "http://h:1/rpc?tenant=a", "https://gw/rpc?tenant=a", "/rpc"),
        ("https://gw", "not a url", "https://gw/not a url"[:10] + "not a url", "not a url"),
    ],
)
def test_prefixes_are_neither_doubled_nor_lost(public: str, url: str, expected: str, path: str) -> None:
    """Case 94."""
    found = rewrite(card(interface(url)), public)
    assert [each["url"] for each in found.card["supportedInterfaces"]] == [expected]
    assert found.rpc_paths == (path,)
    assert public_url_of(public.rstrip("/"), url) == expected


def test_several_endpoints_keep_their_paths() -> None:
    found = rewrite(card(interface("http://h/a"), interface("http://h/b"), interface("http://h/a/")), PUBLIC)
    assert found.rpc_paths == ("/a", "/b")


def test_a_card_of_0_3_alone_has_nothing_to_offer_yet() -> None:
    found = rewrite({"name": "a", "url": "http://h/rpc", "additionalInterfaces": "?", "capabilities": {}}, PUBLIC)
    assert found.card["supportedInterfaces"] == []
    assert urls_in(found.card) == []
    assert found.rpc_paths == ()
    assert found.dropped == (Interface("http://h/rpc", "JSONRPC", "0.3"),)


def test_a_card_in_the_old_layout_that_says_1_0_is_given_the_new_one_too() -> None:
    found = rewrite({"name": "a", "url": "http://h/rpc", "protocolVersion": "1.0.2"}, PUBLIC)
    assert found.card["supportedInterfaces"] == [interface(f"{PUBLIC}/rpc")]
    assert found.card["url"] == f"{PUBLIC}/rpc"
    assert found.rpc_paths == ("/rpc",)
    rest = {"url": "http://h/rest", "transport": "HTTP+JSON"}
    old = {"name": "a", "url": "http://h/rpc", "protocolVersion": "1.0", "additionalInterfaces": [rest]}
    assert rewrite(old, PUBLIC).card["supportedInterfaces"] == [
        interface(f"{PUBLIC}/rpc"),
        interface(f"{PUBLIC}/rest", "HTTP+JSON"),
    ]


@pytest.mark.parametrize("listed", [None, "x", [1, {}, {"url": 5}]])
def test_nonsense_in_a_card_is_left_out(listed: Any) -> None:
    assert interfaces({"supportedInterfaces": listed, "additionalInterfaces": listed, "url": 5}) == []
    assert rewrite({"supportedInterfaces": listed}, PUBLIC).rpc_paths == ()


def test_what_is_declared_is_what_the_sidecar_does() -> None:
    other = {"uri": "urn:other", "required": True}
    mine = {"uri": extension.URI, "required": True, "description": "the agent's own words"}
    capabilities = {"pushNotifications": True, "extendedAgentCard": True, "extensions": [other, mine]}
    agent = card(interface("http://h/rpc"), capabilities=capabilities)
    shown = rewrite(agent, PUBLIC).card["capabilities"]
    assert shown["pushNotifications"] is False
    assert shown["extendedAgentCard"] is True
    assert [(each["uri"], each["required"]) for each in shown["extensions"]] == [
        ("urn:other", True),
        (extension.URI, False),
    ]
    assert capabilities["pushNotifications"] is True


@pytest.mark.parametrize("capabilities", [None, "x", {"extensions": [1]}, {"extensions": "x"}])
def test_capabilities_that_are_none(capabilities: Any) -> None:
    shown = rewrite(card(interface("http://h/rpc"), capabilities=capabilities), PUBLIC).card["capabilities"]
    assert [each["uri"] for each in shown["extensions"]] == [extension.URI]


def test_a_signed_card_is_left_alone_where_it_is_right_and_loses_its_signatures_where_not() -> None:
    """Case 96."""
    signatures = [{"protected": "p", "signature": "s"}]
    right = card(interface(f"{PUBLIC}/rpc"), signatures=signatures)
    found = rewrite(right, PUBLIC)
    assert found.card == right
    assert not found.signature_stripped
    assert found.rpc_paths == ("/rpc",)
    wrong = card(interface("http://h/rpc"), signatures=signatures)
    found = rewrite(wrong, PUBLIC)
    assert "signatures" not in found.card
    assert found.signature_stripped


@pytest.mark.parametrize("root", ["", "/a2a/rest"])
def test_ways_round_the_sidecar_are_known(root: str) -> None:
    agent = card(
        interface("http://h/rpc"),
        interface(f"http://h{root}/", "HTTP+JSON", "0.3"),
        interface("h:2", "GRPC"),
        interface("http://h/old", version="0.3"),
        interface("http://h/next", "HTTP+JSON", "2.0"),
    )
    pattern = bypass(rewrite(agent, PUBLIC).dropped)
    for path in (
        "/message:send",
        "/v1/message:stream",
        "/v1/tasks/1:cancel",
        "/v1/tasks/",
        "/v1/tasks/1/pushNotificationConfigs/2",
        "/v1/card",
    ):
        assert pattern.fullmatch(root + path)
    for path in ("/docs", "/docs/tasks", "/taskset", "/rpc", "/v1/docs", "/v2/message:send"):
        assert not pattern.fullmatch(root + path)
    assert pattern.fullmatch("/old")
    assert pattern.fullmatch("/old/")
    assert not pattern.fullmatch("/older")
    assert pattern.fullmatch("/next/tasks")
    assert pattern.fullmatch("/next/acme/tasks")
    assert not bypass(()).fullmatch("")


def test_where_a_card_is_looked_for() -> None:
    """Case 97."""
    assert card_paths(("/v3/serve/x",)) == {
        "/.well-known/agent-card.json",
        "/v3/.well-known/agent-card.json",
        "/v3/serve/.well-known/agent-card.json",
        "/v3/serve/x/.well-known/agent-card.json",
    }
    assert card_paths(("",)) == card_paths(()) == {"/.well-known/agent-card.json"}


@pytest.mark.parametrize(
    "odd",
    [
        {"url": "http://[bad/rest", "protocolBinding": "HTTP+JSON", "transport": "HTTP+JSON"},
        {"url": "http://h/" + "y" * 5000, "protocolBinding": "JSONRPC", "transport": "JSONRPC"},
        {"url": "http://h/rest", "protocolBinding": ["HTTP+JSON"], "transport": {"a": 1}},
        {"url": 5, "protocolBinding": 5},
    ],
)
def test_what_is_no_address_is_skipped_and_the_others_stay(odd: Json) -> None:
    agent = card(interface("http://h/rpc"), odd, additionalInterfaces=[odd])
    found = rewrite(agent, PUBLIC)
    assert found.rpc_paths == ("/rpc",)
    assert found.card["supportedInterfaces"] == [interface(PUBLIC + "/rpc")]
    legacy = {"url": odd["url"], "preferredTransport": odd["protocolBinding"], "additionalInterfaces": [odd]}
    assert interfaces(legacy) == []
