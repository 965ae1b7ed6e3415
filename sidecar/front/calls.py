"""What an HTTP request says besides its parameters: version, extensions, headers, cursor.

Both HTTP bindings say these in the same places (§3.2.6). This file must not know envelopes. The failure it
prevents: a header that counts on one binding and not on the other.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from bridge.a2a import extension
from bridge.a2a.dialect import V10, VERSION_HEADER, Operation, effective_version
from sidecar.front.asgi import Headers, Scope, end_to_end, header
from sidecar.front.operations import Call
from sidecar.records import Caller, Json

#: Without authentication everybody is the same caller.
ANYBODY = Caller()


def check_version(scope: Scope) -> None:
    """Refuse what is not A2A 1.0.

    Raises:
        A2AFault: VersionNotSupported.
    """
    effective_version(header(scope, b"a2a-version"), _version_in_query(scope), (V10,))


def call_of(scope: Scope, params: Json, operation: Operation, size: int) -> Call:
    """The request as an operation sees it; ``size`` is that of its body in bytes."""
    if operation.kind == "read" and not operation.streaming:
        return Call(params, ANYBODY)
    return Call(
        params,
        ANYBODY,
        headers=end_to_end(scope),
        extensions=_extensions(scope),
        last_event_id=header(scope, b"last-event-id"),
        size=size,
    )


def query_of(scope: Scope) -> list[tuple[str, str]]:
    """Names and values in the URL's query, empty ones too."""
    query: bytes = scope.get("query_string", b"")
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True) if query else []


def echoed(call: Call) -> Headers:
    """The activation of our extension, confirmed (§3.2.6)."""
    if extension.URI in call.extensions:
        return [(b"a2a-extensions", extension.URI.encode())]
    return []


def _version_in_query(scope: Scope) -> str | None:
    wanted = VERSION_HEADER.lower()
    return next((value for name, value in query_of(scope) if value and name.lower() == wanted), None)


def _extensions(scope: Scope) -> tuple[str, ...]:
    """URIs in ``A2A-Extensions``, each once."""
    text = header(scope, b"a2a-extensions")
    if not text:
        return ()
    return tuple(dict.fromkeys(uri for each in text.split(",") if (uri := each.strip())))
