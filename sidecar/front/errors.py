"""What a client is told when something went wrong: one form for every exception, which bindings dress.

This file must not know bindings. The failures it prevents: a fault that reads differently on two of them, and
one that tells a client what only the log should say.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from bridge.a2a.faults import A2AFault, error_object
from sidecar.errors import RpcError, SidecarError
from sidecar.records import Json

log = logging.getLogger(__name__)


class Failure(NamedTuple):
    """An error as a binding writes it.

    Attributes:
        status: of HTTP.
        body: JSON text.
    """

    status: int
    body: bytes


def error_of(error: Exception) -> Json:
    """A fault as the ``error`` member of JSON-RPC, from which other forms are made.

    What an agent or the runtime says in A2A's words (RpcError) is passed on as it is. Other faults of ours are
    internal errors that name their code and whether trying again may help; anything unforeseen is logged and not
    shown.
    """
    if isinstance(error, A2AFault):
        return error.error_object()
    if isinstance(error, RpcError):
        told: Json = {"code": error.number, "message": error.message}
        if error.data is not None:
            told["data"] = error.data
        return told
    if isinstance(error, SidecarError):
        log.warning("request failed: %s", error)
        metadata = {"code": error.code, "retryable": str(error.retryable).lower()}
        return error_object("Internal", f"Internal error: {error.message}", metadata)
    log.error("request failed in an unforeseen way", exc_info=error)
    return error_object("Internal")


def is_answer(error: Exception) -> bool:
    """Whether an error is how the message ended, so that the same messageId would be a new message.

    What the agent said is. A failure on our side leaves the outcome unknown: the client is to ask again with the
    same messageId, and attaches. An internal error without details may be either, so it is taken for ours.
    """
    return isinstance(error, RpcError) and (error.number != -32603 or error.data is not None)


def too_large(bytes_max: int) -> A2AFault:
    """What is told to a request that is above the limit; the HTTP status is 413 on every binding."""
    return A2AFault("InvalidRequest", f"Payload too large: a request may have {bytes_max} bytes")
