"""Which headers travel to the agent.

Lives here: the rules for a client's headers, for pass-through and for requests of our own. The file must not know
connections. It prevents that headers of one connection are passed on to another, and that what a client said about
its request to us (its length, its last event id, its conditions) is taken for something about ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bridge.a2a.dialect import EXTENSIONS_HEADER, V10, VERSION_HEADER
from bridge.a2a.extension import URI as DURABILITY

_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "http2-settings",
    }
)
#: Said by us about our own request; what a client said about its request to us does not apply.
_OURS = frozenset(
    {
        "host",
        "content-length",
        "content-type",
        "content-encoding",
        "accept",
        "accept-encoding",
        "expect",
        "last-event-id",
        "range",
        "if-match",
        "if-none-match",
        "if-modified-since",
        "if-unmodified-since",
        "a2a-version",
        "a2a-extensions",
    }
)


def request_headers(given: Mapping[str, str], *, durable: bool, credentials: Mapping[str, str]) -> dict[str, str]:
    """Headers of a JSON-RPC request.

    Args:
        given: end-to-end headers of the client's call; ``A2A-Extensions`` among them is what it activated.
        durable: activate the durability extension as well.
        credentials: the sidecar's own, used where the call brings no ``Authorization``.
    """
    usable = [(name, value) for name, value in end_to_end(given.items()) if printable(value)]
    sent = {name: value for name, value in usable if name.lower() not in _OURS}
    if not any(name.lower() == "authorization" for name in sent):
        sent |= credentials
    if not any(name.lower() == "user-agent" for name in sent):
        sent["User-Agent"] = "dhp-sidecar"
    sent |= {
        "Content-Type": "application/json",
        "Accept": "text/event-stream, application/json",
        "Accept-Encoding": "identity",
        VERSION_HEADER: V10,
    }
    activated = [value for name, value in usable if name.lower() == EXTENSIONS_HEADER.lower()]
    uris = [uri for value in activated for each in value.split(",") if (uri := each.strip())]
    if durable:
        uris.append(DURABILITY)
    if uris:
        sent[EXTENSIONS_HEADER] = ", ".join(dict.fromkeys(uris))
    return sent


def end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers without those that concern one connection only (RFC 9110 §7.6.1)."""
    pairs = list(headers)
    named = {
        each.strip().lower() for name, value in pairs if name.lower() == "connection" for each in value.split(",")
    }
    return [
        (name, value) for name, value in pairs if (low := name.lower()) not in _HOP_BY_HOP and low not in named
    ]


def printable(value: str) -> bool:
    """Whether a header value holds no control characters, which would begin another header."""
    return not any((char < " " and char != "\t") or char == "\x7f" for char in value)
