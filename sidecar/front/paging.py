"""Page tokens: a cursor as text that clients pass back and do not look into.

The failure it prevents: a token with something secret or something guessable in it. It holds a position in the
caller's own list, nothing else; whose list it is is decided by who asks.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from bridge.a2a.faults import A2AFault


def token_of(cursor: tuple[int, str]) -> str:
    """The token for ``(status_at, task_id)``: URL-safe."""
    at, task_id = cursor
    return urlsafe_b64encode(f"{at} {task_id}".encode()).decode().rstrip("=")


def cursor_of(token: str) -> tuple[int, str]:
    """The cursor in a token.

    Raises:
        A2AFault: InvalidParams, where it is no token of ours.
    """
    try:
        text = urlsafe_b64decode(token.encode("ascii") + b"=" * (-len(token) % 4)).decode()
        at, task_id = text.split(" ", 1)
        cursor = (int(at), task_id)
    except ValueError:
        raise A2AFault("InvalidParams", "pageToken: not a token of this server") from None
    if not task_id or token_of(cursor) != token or not -(2**63) <= cursor[0] < 2**63:
        raise A2AFault("InvalidParams", "pageToken: not a token of this server")
    return cursor
