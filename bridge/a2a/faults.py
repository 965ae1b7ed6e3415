"""A2A's errors: one table of codes, one shape, one exception.

The failure it prevents: the same fault reading differently depending on which part of the sidecar, or which
transport, reports it. The table equals the SDK's (a test compares); the shape is what the SDK's server emits. This
file must not know when an error is due: rules raise ``A2AFault``, fronts write ``error_object``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bridge.errors import BridgeError

URI_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
URI_BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
ERROR_DOMAIN = "a2a-protocol.org"


class A2AErrorRow(NamedTuple):
    """How one error reads on each transport (§5.4).

    Attributes:
        jsonrpc: JSON-RPC error code.
        http: HTTP status of the HTTP+JSON binding.
        grpc: name of the gRPC status.
        reason: ``google.rpc.ErrorInfo.reason``.
        message: default text.
    """

    jsonrpc: int
    http: int
    grpc: str
    reason: str
    message: str


ERRORS: dict[str, A2AErrorRow] = {
    "TaskNotFound": A2AErrorRow(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND", "Task not found"),
    "TaskNotCancelable": A2AErrorRow(
        -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE", "Task cannot be canceled"
    ),
    "PushNotificationNotSupported": A2AErrorRow(
        -32003,
        400,
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
        "Push Notification is not supported",
    ),
    "UnsupportedOperation": A2AErrorRow(
        -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", "This operation is not supported"
    ),
    "ContentTypeNotSupported": A2AErrorRow(
        -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types"
    ),
    "InvalidAgentResponse": A2AErrorRow(
        -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE", "Invalid agent response"
    ),
    "ExtendedAgentCardNotConfigured": A2AErrorRow(
        -32007,
        400,
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
        "Authenticated Extended Card is not configured",
    ),
    "ExtensionSupportRequired": A2AErrorRow(
        -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED", "Extension support required"
    ),
    "VersionNotSupported": A2AErrorRow(
        -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", "Version not supported"
    ),
    "InvalidParams": A2AErrorRow(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS", "Invalid params"),
    "InvalidRequest": A2AErrorRow(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "Invalid Request"),
    "MethodNotFound": A2AErrorRow(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", "Method not found"),
    "Internal": A2AErrorRow(-32603, 500, "INTERNAL", "INTERNAL_ERROR", "Internal error"),
    "JsonParse": A2AErrorRow(-32700, 400, "INVALID_ARGUMENT", "INVALID_REQUEST", "Invalid JSON payload"),
}

#: Faults of the envelope rather than of A2A: the SDK's server answers them without ErrorInfo.
_BARE: frozenset[str] = frozenset({"MethodNotFound", "JsonParse"})


class A2AFault(BridgeError):
    """A request that A2A's own rules refuse, in A2A's own words.

    Attributes:
        name: key into ``ERRORS``.
        message: what the client is told.
        metadata: becomes ``ErrorInfo.metadata``; clients see it.
    """

    code = "a2a_fault"

    def __init__(self, name: str, message: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self.name = name
        self.message = message or ERRORS[name].message
        self.metadata = metadata
        super().__init__(self.message)

    @property
    def row(self) -> A2AErrorRow:
        """Codes of this error on each transport."""
        return ERRORS[self.name]

    def error_object(self) -> dict[str, Any]:
        """The JSON-RPC ``error`` member."""
        return error_object(self.name, self.message, self.metadata)


def error_details(name: str, metadata: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """The typed details that every transport carries: ErrorInfo, and BadRequest where fields are named.

    Args:
        name: key into ``ERRORS``.
        metadata: for ErrorInfo; ``errors: [{field, message}]`` of InvalidParams also becomes a BadRequest.
    """
    details: list[dict[str, Any]] = [
        {
            "@type": URI_ERROR_INFO,
            "reason": ERRORS[name].reason,
            "domain": ERROR_DOMAIN,
            "metadata": metadata or {},
        }
    ]
    fields = metadata.get("errors") if metadata and name == "InvalidParams" else None
    if fields:
        violations = [{"field": each["field"], "description": each["message"]} for each in fields]
        details.append({"@type": URI_BAD_REQUEST, "fieldViolations": violations})
    return details


def error_object(name: str, message: str | None = None, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """A JSON-RPC ``error`` member in the shape that the SDK's server emits (§9.5).

    Args:
        name: key into ``ERRORS``.
        message: text for people; the table's where None.
        metadata: becomes ``ErrorInfo.metadata``; ``errors: [{field, message}]`` also a BadRequest.
    """
    row = ERRORS[name]
    error: dict[str, Any] = {"code": row.jsonrpc, "message": message or row.message}
    if name not in _BARE:
        error["data"] = error_details(name, metadata)
    return error


def status_object(error: dict[str, Any]) -> dict[str, Any]:
    """An error as HTTP+JSON has it (§11.6): a ``google.rpc.Status``, as the SDK's server writes it.

    Args:
        error: a JSON-RPC ``error`` member, ours or an agent's. Its code decides; an ErrorInfo is added where it
            has none, because clients of this binding tell errors apart by it.

    Returns:
        ``{"error": {code, status, message, details}}``; ``code`` is the HTTP status.
    """
    name = _NAMES.get(error["code"], "Internal")
    row, data = ERRORS[name], error.get("data")
    details = [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []
    if not any(each.get("@type") == URI_ERROR_INFO for each in details):
        (info,) = error_details(name)
        details = [info | {"metadata": data} if isinstance(data, dict) else info, *details]
    return {"error": {"code": row.http, "status": row.grpc, "message": error["message"], "details": details}}


_NAMES: dict[Any, str] = {row.jsonrpc: name for name, row in ERRORS.items()}
