"""The A2A server towards clients: JSON-RPC and HTTP+JSON with streams, one set of operations behind both."""

from sidecar.front.app import Front
from sidecar.front.card import AgentSide
from sidecar.front.settings import FrontSettings

__all__ = ["AgentSide", "Front", "FrontSettings"]
