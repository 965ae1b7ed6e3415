"""The agent card, as far as an A2A client needs it.

Lives here: where the card stands, which interface of it we speak, what it says the agent can do. The file must
not fetch anything. It prevents talking to an address that is only right inside the agent's own container: of a
card's URL the path counts, while scheme, host and port are those that the operator configured.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bridge.a2a.card import rewrite
from bridge.a2a.extension import URI as DURABILITY
from bridge.jsontext import write
from sidecar.errors import ConfigError
from sidecar.records import Json

_ANYWHERE = "http://sidecar.invalid"
WELL_KNOWN = "/.well-known/agent-card.json"
_VERSION_1_0 = re.compile(r"1\.0(\.\d+)?\Z")


class UnusableCard(ValueError):
    """The card names nothing that we can speak to; the message says why, for people."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the operator says that the agent is.

    Attributes:
        origin: scheme, host and port, without a path.
        prefix: path under which the agent lives, "" or "/…" without a trailing slash.
    """

    origin: str
    prefix: str

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read the configured agent URL.

        Raises:
            ConfigError: it is not an http or https URL with a host.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as fault:
            raise ConfigError(f"agent URL {url!r}: {fault}") from fault
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"agent URL {url!r} is not usable", "write it as http://host:port")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(f"{parts.scheme}://{host}" + (f":{port}" if port else ""), parts.path.rstrip("/"))

    def card_paths(self) -> list[str]:
        """Where the card may be, the likeliest first: under the prefix, then at the origin (case 97)."""
        return list(dict.fromkeys([self.prefix + WELL_KNOWN, WELL_KNOWN]))


@dataclass(frozen=True, slots=True)
class CardView:
    """What a card means for us.

    Attributes:
        rpc_path: path and query of the JSON-RPC 1.0 endpoint.
        tenant: the interface's tenant, "" for none; it belongs into the params of every request.
        streaming: the agent answers with streams; otherwise it is polled.
        durable: the agent declares the durability extension.
        extensions: URIs of all extensions that the agent declares.
    """

    rpc_path: str
    tenant: str
    streaming: bool
    durable: bool
    extensions: tuple[str, ...]


def read_card(card: Any) -> CardView:
    """Find the JSON-RPC 1.0 interface of a card and what the agent can do.

    A card that is accepted is kept and served, at gateways and after restarts too: so it is rewritten once here.

    Raises:
        UnusableCard: there is no such interface, this is no card, or it cannot be rewritten for clients.
    """
    if not isinstance(card, dict):
        raise UnusableCard("the agent card is not a JSON object")
    interfaces = [each for each in _list(card, "supportedInterfaces") if isinstance(each, dict)]
    for interface in interfaces:
        binding, version = interface.get("protocolBinding"), interface.get("protocolVersion")
        if str(binding).upper() == "JSONRPC" and _VERSION_1_0.match(str(version)):
            view = _view(card, interface)
            try:
                write(rewrite(card, _ANYWHERE).card)
            except Exception as fault:
                raise UnusableCard(f"the agent card cannot be served to clients: {fault!r}") from fault
            return view
    offered = ", ".join(f"{each.get('protocolBinding')} {each.get('protocolVersion')}" for each in interfaces)
    raise UnusableCard(f"the agent card offers no JSON-RPC 1.0 interface, only: {offered or 'none'}")


def _view(card: Json, interface: Json) -> CardView:
    try:
        parts = urlsplit(str(interface.get("url") or ""))
    except ValueError as fault:
        raise UnusableCard(f"the agent card's JSON-RPC URL cannot be read: {fault}") from fault
    capabilities = card.get("capabilities")
    capabilities = capabilities if isinstance(capabilities, dict) else {}
    declared = [each.get("uri") for each in _list(capabilities, "extensions") if isinstance(each, dict)]
    extensions = tuple(uri for uri in declared if isinstance(uri, str))
    return CardView(
        rpc_path=(parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        tenant=str(interface.get("tenant") or ""),
        streaming=capabilities.get("streaming") is True,
        durable=DURABILITY in extensions,
        extensions=extensions,
    )


def _list(holder: Json, name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []
