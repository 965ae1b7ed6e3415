"""How an agent's card says that the agent keeps checkpoints.

A sidecar sends resume data only to agents that declare the extension, so an agent that forgets to declare it would
silently be run from the start: this is the one line that prevents it.
"""

from __future__ import annotations

from a2a.types import AgentCard, AgentExtension

from bridge.a2a.extension import URI


def declare_durable(card: AgentCard) -> AgentCard:
    """Add the durability extension to a card, once.

    Args:
        card: changed in place.

    Returns:
        The same card, so that the call can stand around its construction.
    """
    if all(extension.uri != URI for extension in card.capabilities.extensions):
        card.capabilities.extensions.append(
            AgentExtension(
                uri=URI, description="Continues from its last checkpoint after a takeover.", required=False
            )
        )
    return card
