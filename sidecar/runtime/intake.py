"""Taking messages in: journalled before the agent hears of them, once per message however often it is sent.

A repeat of a message that is still unanswered attaches to the run that it began; an answered one, or one with
another content, is a new message (2-protocol: identity). The journal's own task id is the lock between sidecars:
two dispatches of one key and generation meet at one journal, and one of them wins it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bridge.a2a import extension
from bridge.a2a.dialect import TERMINAL_STATES
from bridge.a2a.faults import A2AFault
from bridge.envelope import (
    MessageKey,
    digest_of_message,
    handoff_id,
    intent_of_message,
    is_random_uuid,
    key_hash,
    task_id,
)
from sidecar.records import Json, KeyRow, SendCall, Sent
from sidecar.runtime import repeats
from sidecar.runtime.endings import has_ended
from sidecar.runtime.node import Node
from sidecar.runtime.oneatatime import OneAtATime
from sidecar.runtime.ownership import Ownership
from sidecar.runtime.reading import Reading, not_found

DISPATCH_TRIES = 20

LARGE_BYTES = 256 << 10
"""Requests above this are hashed beside the event loop: millions of numbers take seconds."""


class Intake:
    """Accepts messages for new and for existing tasks.

    Args:
        node: what this sidecar holds in common.
        ownership: claims handoffs and drives the ones that are owned here.
        reading: knows which tasks a caller may see.

    Attributes:
        told: messages whose response was written out just now: their rows may not say so yet.
    """

    def __init__(self, node: Node, ownership: Ownership, reading: Reading) -> None:
        self._node, self._ownership, self._reading = node, ownership, reading
        self._one_at_a_time = OneAtATime()
        self.told: set[KeyRow] = set()

    async def send(self, call: SendCall) -> Sent:
        """See ``ports.Tasks.send``.

        Raises:
            A2AFault: the message may not be sent there.
            StoreError: it could not be journalled; the agent heard nothing of it.
        """
        message = call.params["message"]
        public = message.get("taskId") or None
        key = MessageKey(call.caller.tenant, call.caller.principal, public, message["messageId"])
        digest = key_hash(key)
        async with self._one_at_a_time(digest):
            if public is None:
                return await self._new(call, key, digest)
            return await self._later(call, key, digest, public)

    async def _new(self, call: SendCall, key: MessageKey, digest: str) -> Sent:
        node = self._node
        if node.superseded:
            text = f"Another sidecar named {node.name} has replaced this one: send the message again, to that one."
            raise A2AFault("Internal", text)
        intent = intent_of_message(call.params)
        wanted = await _hashed(handoff_id, intent, call.size)
        durable = extension.URI in call.extensions
        first = task_id(key, 0)
        # Most messages are new, and where one is not its journal refuses to begin again: only then is it worth
        # reading what became of it. What was begun here a moment ago is known without asking.
        known = first in self._ownership.owners or not node.link.ready
        for _ in range(DISPATCH_TRIES):
            rows = await node.store.keys(digest) if known else []
            known = True
            same = await self._repeated(rows, wanted, key.message_id, durable=durable)
            if same:
                return Sent(same.task_id, 0, True, key.message_id, same)
            generation = rows[-1].generation + 1 if rows else 0
            task = task_id(key, generation) if generation else first
            row = KeyRow(digest, generation, task, wanted, False)
            body: Json = {
                "task": task,
                "handoff": wanted,
                "key": {
                    "tenant": key.tenant,
                    "principal": key.principal,
                    "task": None,
                    "messageId": key.message_id,
                    "generation": generation,
                },
                "intent": intent,
                **node.store.names(task),
                "protocol": "1.0",
                "group": node.group,
                "context": call.params["message"].get("contextId") or None,
                "extensions": list(call.extensions),
                "accepted": {
                    "host": node.store.voter_id,
                    "boot": node.clock.boot,
                    "ms": int(node.clock.monotonic() * 1000),
                },
            }
            if await self._ownership.dispatch(task, body, row, call):
                return Sent(task, 0, False, key.message_id, row)
        raise A2AFault("Internal", f"message {key.message_id} could not be dispatched: its key is contended")

    async def _repeated(self, rows: list[KeyRow], wanted: str, message_id: str, *, durable: bool) -> KeyRow | None:
        """The newest message that this one repeats: others may have had the same id since."""
        for row in reversed(rows):
            if await self._attaches(row, wanted, message_id, durable=durable):
                return row
        return None

    async def _attaches(self, row: KeyRow, wanted: str, message_id: str, *, durable: bool) -> bool:
        # Nothing authenticates callers yet: only an unguessable id proves that the same client sends again.
        if row.intent != wanted or not is_random_uuid(message_id):
            return False
        answered = row.answered or row in self.told
        return not answered or (durable and await self._within_window(row.task_id))

    async def _within_window(self, task: str) -> bool:
        """A client with the durability extension may repeat a message that was answered, for a while."""
        view = await self._node.store.view(task)
        window_ms = self._node.config.journal.idempotency_window_s * 1000
        return view is not None and self._node.clock.wall_ms() - view.status_at <= window_ms

    async def _later(self, call: SendCall, key: MessageKey, digest: str, public: str) -> Sent:
        node = self._node
        view = await self._reading.visible(public, call.caller)
        context = call.params["message"].get("contextId")
        if context and context != view.context_id:
            raise A2AFault("InvalidParams", f"contextId {context} does not belong to task {public}")
        wanted = await _hashed(digest_of_message, call.params, call.size)
        before = await node.store.handoff_row(public)
        if before is None:
            raise not_found(public)
        rows = await node.store.keys(digest)
        durable = extension.URI in call.extensions
        same = await self._repeated(rows, wanted, key.message_id, durable=durable)
        if same:
            # Also where the task has ended since: the repeat asks for what the message has led to.
            after = await repeats.position(node.store, public, key.message_id, wanted)
            return Sent(public, after, True, key.message_id, same)
        if view.task_state in TERMINAL_STATES:
            raise has_ended(public, view.task_state)
        generation = rows[-1].generation + 1 if rows else 0
        row = KeyRow(digest, generation, public, wanted, False)
        body: Json = {**call.params, "id": key.message_id, "digest": wanted}
        after = await self._ownership.deliver_input(before, body, row, call.headers)
        return Sent(public, after, False, key.message_id, row)


async def _hashed(hash_of: Callable[[Any], str], value: Any, size: int) -> str:
    if size <= LARGE_BYTES:
        return hash_of(value)
    # Every other task and this session's lease go on meanwhile.
    return await asyncio.to_thread(hash_of, value)
