"""The card of the agents in ``tests.integration.agents``."""

from __future__ import annotations

from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill

RPC_PATH = "/a2a/jsonrpc"
REST_PATH = "/a2a/rest"


def card_of(kind: str, url: str, *, streaming: bool) -> AgentCard:
    return AgentCard(
        name=f"test {kind}",
        description="test agent",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=url + RPC_PATH, protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=url + REST_PATH, protocol_binding="HTTP+JSON", protocol_version="1.0"),
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id=kind, name=kind, description=kind, tags=[kind])],
    )
