"""The agent card as clients of the sidecar see it (§8).

Every URL in a card that is passed on unchanged is a way round the sidecar: a client that follows it gets an
ordinary, mortal task. So the card is rewritten as data, before anybody serves it: interfaces that the sidecar
speaks point at its public URL, the others are left out, and what is declared is what the sidecar does. This file
must not know where a card comes from, who asks, or a Host header: the public URL is a parameter.

Rewriting breaks a signature (a JWS over the whole card). A signed card whose URLs already match is therefore left
alone; otherwise the signatures go, and the caller says so in its log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard
from urllib.parse import urlsplit

from bridge.a2a import extension
from bridge.a2a.routes import ANY_PATH

Json = dict[str, Any]

URL_LENGTH_MAX = 4096

WELL_KNOWN = "/.well-known/agent-card.json"

#: What this release's front speaks: (binding, major.minor). gRPC and 0.3 join here when they are served.
SPOKEN: frozenset[tuple[str, str]] = frozenset({("JSONRPC", "1.0"), ("HTTP+JSON", "1.0")})

#: Members of a 0.3 card that say where the agent is; the same facts as ``supportedInterfaces`` of 1.0.
_LEGACY = ("url", "preferredTransport", "additionalInterfaces", "protocolVersion")


class Interface(NamedTuple):
    """One address of an agent.

    Attributes:
        url: absolute.
        binding: JSONRPC, HTTP+JSON or GRPC.
        version: protocol version, ``major.minor``.
    """

    url: str
    binding: str
    version: str


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A card for clients, and what became of the agent's.

    Attributes:
        card: to be served.
        rpc_paths: where the JSON-RPC interfaces stand below the public URL, without trailing slash ("": root).
        rest_paths: the same for HTTP+JSON.
        dropped: interfaces that are not served through the sidecar.
        signature_stripped: the agent's card was signed and this one is not.
    """

    card: Json
    rpc_paths: tuple[str, ...]
    rest_paths: tuple[str, ...]
    dropped: tuple[Interface, ...]
    signature_stripped: bool


def interfaces(card: Json) -> list[Interface]:
    """Every address in a card, those of a 1.0 card first; the same one is listed once.

    A 0.3 card has ``url`` with ``preferredTransport``, and ``additionalInterfaces`` beside it. What is no
    address (a URL that cannot be read, a binding that is no text) is left out: cards come from outside.
    """
    found = [
        Interface(
            each["url"], each.get("protocolBinding") or "JSONRPC", _minor(each.get("protocolVersion"), "1.0")
        )
        for each in _objects(card.get("supportedInterfaces"), "protocolBinding")
    ]
    legacy = _minor(card.get("protocolVersion"), "0.3")
    if _is_address(card, "preferredTransport"):
        found.append(Interface(card["url"], card.get("preferredTransport") or "JSONRPC", legacy))
    found += [
        Interface(each["url"], each.get("transport") or "JSONRPC", legacy)
        for each in _objects(card.get("additionalInterfaces"), "transport")
    ]
    return list(dict.fromkeys(found))


def rewrite(card: Json, public_url: str) -> Rewritten:
    """What clients are told about an agent.

    Args:
        card: the agent's own; not changed.
        public_url: the sidecar's, with or without a path prefix or a trailing slash.
    """
    base = public_url.rstrip("/")
    every = interfaces(card)
    kept = [each for each in every if (each.binding, each.version) in SPOKEN]
    dropped = tuple(each for each in every if (each.binding, each.version) not in SPOKEN)
    rpc, rest = (_paths(base, kept, binding) for binding in ("JSONRPC", "HTTP+JSON"))

    served = _readdressed(card, base, kept)
    signed = bool(card.get("signatures"))
    if signed and served == card:
        return Rewritten(card, rpc, rest, dropped, signature_stripped=False)
    served["capabilities"] = _declaring(served.get("capabilities"))
    served.pop("signatures", None)
    return Rewritten(served, rpc, rest, dropped, signature_stripped=signed)


def public_url_of(base: str, url: str) -> str:
    """The sidecar's URL for one of the agent's: the same path below the public URL.

    A URL that stands below the public URL already (an agent that was told its public address) stays as it is:
    otherwise prefixes would double.
    """
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return url if _is_below(base, url) else f"{base}{parts.path or '/'}{query}"


def card_paths(paths: tuple[str, ...]) -> frozenset[str]:
    """Where the card is served: at the root and below every prefix of an interface's path."""
    prefixes = {""}
    for path in paths:
        parts = path.split("/")
        prefixes.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(prefix + WELL_KNOWN for prefix in prefixes)


def bypass(dropped: tuple[Interface, ...]) -> re.Pattern[str]:
    """Paths at which the agent would answer A2A that this sidecar does not serve.

    Clients that know them from before are refused: passed through, they would get tasks that die with the agent.

    Args:
        dropped: see ``Rewritten``.

    Returns:
        A pattern for whole paths; it matches nothing where nothing was dropped.
    """
    places = [r"(?!)"]
    for each in dropped:
        path = re.escape(urlsplit(each.url).path.rstrip("/"))
        if each.binding == "HTTP+JSON":
            # 0.3 has the same paths below /v1, and its card; what else there may be has tenants as 1.0 has.
            first = "(?:/v1)?" if each.version == "0.3" else "(?:/[^/]+)?"
            places += [f"{path}{first}(?:{ANY_PATH})/?", path + "/v1/card"]
        elif each.binding == "JSONRPC":
            places.append(path + "/?")
    return re.compile("|".join(places))


def _paths(base: str, kept: list[Interface], binding: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_below(base, each.url).rstrip("/") for each in kept if each.binding == binding))


def _readdressed(card: Json, base: str, kept: list[Interface]) -> Json:
    """The card with only interfaces that lead through the sidecar."""
    served = dict(card)
    served["supportedInterfaces"] = [
        {**each, "url": public_url_of(base, each["url"])}
        for each in _objects(card.get("supportedInterfaces"), "protocolBinding")
        if (each.get("protocolBinding") or "JSONRPC", _minor(each.get("protocolVersion"), "1.0")) in SPOKEN
    ]
    if card.get("url") in [each.url for each in kept] and not card.get("supportedInterfaces"):
        served["url"] = public_url_of(base, card["url"])
        served.pop("additionalInterfaces", None)
        served["supportedInterfaces"] = [
            {
                "url": public_url_of(base, each.url),
                "protocolBinding": each.binding,
                "protocolVersion": each.version,
            }
            for each in kept
        ]
    else:
        for name in _LEGACY:
            served.pop(name, None)
    capabilities = card.get("capabilities")
    if isinstance(capabilities, dict) and capabilities.get("pushNotifications"):
        served["capabilities"] = {**capabilities, "pushNotifications": False}
    return served


def _declaring(capabilities: Any) -> Json:
    """Capabilities with the durability extension among them."""
    declared = dict(capabilities) if isinstance(capabilities, dict) else {}
    present = declared.get("extensions")
    others = [each for each in present if each.get("uri") != extension.URI] if _all_objects(present) else []
    declared["extensions"] = [
        *others,
        {
            "uri": extension.URI,
            "description": "Tasks outlive their agent: they are journalled and resumed on a standby.",
            "required": False,
        },
    ]
    return declared


def _below(base: str, url: str) -> str:
    """The path of an interface below the public URL."""
    return urlsplit(url[len(base) :] if _is_below(base, url) else url).path or "/"


def _is_below(base: str, url: str) -> bool:
    return url == base or url.startswith((base + "/", base + "?"))


def _objects(value: Any, binding: str) -> list[Json]:
    """The members of a list that are addresses, whose binding stands under this name."""
    if not isinstance(value, list):
        return []
    return [each for each in value if isinstance(each, dict) and _is_address(each, binding)]


def _is_address(value: Json, binding: str) -> bool:
    """Whether an object has a URL that can be read, and a binding that is text or left open."""
    url = value.get("url")
    if not isinstance(url, str) or len(url) > URL_LENGTH_MAX or not isinstance(value.get(binding) or "", str):
        return False
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def _all_objects(value: Any) -> TypeGuard[list[Json]]:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _minor(version: Any, default: str) -> str:
    """``major.minor`` of a version."""
    text = version if isinstance(version, str) and version else default
    return ".".join(text.split(".")[:2])
