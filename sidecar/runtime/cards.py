"""The agent's card as it was last: kept in the store, so that a start without the agent knows what it needs.

A card says which paths are A2A, and its name is the group where no other was given. Messages are taken before the
agent has answered for the first time: they must be of its group even then, or nobody of it would take them over.
This file must not know how a card is read. The failure it prevents: a task that belongs to no group.
"""

from __future__ import annotations

import logging

from bridge.jsontext import parse, write
from sidecar.errors import StoreError
from sidecar.runtime.node import Node

log = logging.getLogger(__name__)


def of_group(group: str) -> str:
    """The name under which a group's card is kept."""
    return f"group {group}"


class Cards:
    """Keeps the card of the agent beside this sidecar.

    Args:
        node: what this sidecar holds in common; its group may be set here.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._recalled = False

    async def recall(self) -> None:
        """Take the card that was kept, until the agent's own is read.

        Raises:
            StoreError: the store cannot be read.
        """
        node = self._node
        card = await node.store.kept(f"card {node.link.endpoint}")
        if card is not None:
            node.link.card = parse(card)
            self._recalled = not (node.group or node.config.gateway)
            if self._recalled:
                self._take_name()

    def was_read(self) -> None:
        """The agent was looked at: the first card that it shows itself names the group, unless one was given."""
        if self._node.link.card is not None and (self._recalled or not self._node.group):
            self._take_name()
            self._recalled = not self._node.link.ready

    async def keep(self) -> None:
        """Keep the card: for the next start, and for gateways."""
        node = self._node
        card = write(node.link.card).decode()
        try:
            await node.store.keep(f"card {node.link.endpoint}", card)
            await node.store.keep(of_group(node.group), card)
        except StoreError as error:
            log.warning("the agent's card could not be kept: %s", error)

    def _take_name(self) -> None:
        self._node.group = str((self._node.link.card or {}).get("name") or "")
