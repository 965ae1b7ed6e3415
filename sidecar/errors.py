"""Everything that can go wrong outside the rules, with stable codes.

    SidecarError
    ├── ConfigError            config               an option or key is unknown or does not fit
    ├── StoreError             store                the store could not do what was asked
    │   ├── StoreUnavailable   store_unavailable    busy, locked or gone for now; retry
    │   ├── StoreReadOnly      store_read_only      the file or its file system cannot be written
    │   ├── StoreFull          store_full           no space left
    │   ├── StoreCorrupt       store_corrupt        the file is not a database, or is damaged
    │   ├── SchemaNewer        store_schema_newer   written by a newer release
    │   ├── NetworkFilesystem  store_network_fs     locks cannot be trusted there
    │   └── PeerUnavailable    peer_unavailable     a peer does not answer; the outcome is unknown
    ├── Fenced                 fenced               another session owns the handoff
    ├── AgentError             agent                the agent could not be used (see ports.RunEnd for streams)
    │   ├── AgentUnavailable   agent_unavailable    it refuses connections
    │   └── AgentTimeout       agent_timeout        it does not answer
    └── RpcError               (A2A's own codes)    what an A2A client is told

Libraries' exceptions are translated where they are met: nothing above an adapter sees one. ``hint`` says what
to do, ``retryable`` whether the same call may work later.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SidecarError(Exception):
    """Base of the tree.

    Args:
        message: what happened, to which task or file.
        hint: what to do about it.
    """

    code: ClassVar[str] = "sidecar"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class ConfigError(SidecarError):
    """An option, environment variable or key is unknown or has a value that does not fit."""

    code = "config"


class StoreError(SidecarError):
    """The store could not do what was asked; nothing was half written."""

    code = "store"


class StoreUnavailable(StoreError):
    """Busy, locked or gone for now."""

    code = "store_unavailable"
    retryable = True


class StoreReadOnly(StoreError):
    """The file or its file system cannot be written."""

    code = "store_read_only"
    retryable = True


class StoreFull(StoreError):
    """No space is left on the store's file system."""

    code = "store_full"
    retryable = True


class StoreCorrupt(StoreError):
    """The file is not a database, or is damaged."""

    code = "store_corrupt"


class SchemaNewer(StoreError):
    """A newer release wrote this store."""

    code = "store_schema_newer"


class NetworkFilesystem(StoreError):
    """The store lies on a file system whose locks cannot be trusted."""

    code = "store_network_fs"


class PeerUnavailable(StoreError):
    """A peer does not answer, or its connection broke: whether it did what was asked is unknown."""

    code = "peer_unavailable"
    retryable = True


class Fenced(SidecarError):
    """Another session owns the handoff: this one's writes do not count any more."""

    code = "fenced"


class AgentError(SidecarError):
    """The agent could not be used."""

    code = "agent"


class AgentUnavailable(AgentError):
    """The agent refuses connections: it saw nothing of the request."""

    code = "agent_unavailable"
    retryable = True


class AgentTimeout(AgentError):
    """The agent does not answer."""

    code = "agent_timeout"
    retryable = True


class RpcError(SidecarError):
    """What an A2A client is told.

    Args:
        number: the JSON-RPC error code.
        message: for people.
        data: the JSON-RPC ``data`` member, if any.
    """

    code = "rpc"

    def __init__(self, number: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.number = number
        self.data = data
