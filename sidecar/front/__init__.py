"""The A2A server towards clients: JSON-RPC with streams today, other bindings beside it later."""

from sidecar.front.app import Front
from sidecar.front.card import AgentSide
from sidecar.front.settings import FrontSettings

__all__ = ["AgentSide", "Front", "FrontSettings"]
