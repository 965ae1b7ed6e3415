"""Which of a task's later messages is meant: the same one again, or a new one under an id that was used before.

A sender looks at what is committed under its message's key before it hands the message over, and whoever owns the
task may have journalled the same message meanwhile, for another sender. What stands in the journal decides: the
inputs of one messageId are its generations, in order. The failure this prevents: one message that the agent gets
twice, because it was sent to two sidecars at once; or one that is lost, because another had its id.
"""

from __future__ import annotations

from collections.abc import Sequence

from bridge.journal import Kind
from bridge.jsontext import parse_stored
from sidecar.records import Json, KeyRow
from sidecar.store import Store

READ_CHUNK = 2000


def placed(inputs: Sequence[Json], message_id: str, key: KeyRow) -> tuple[int, bool]:
    """The generation of a later message, and whether it stands in the journal already.

    Args:
        inputs: bodies of the task's ``input`` entries.
        message_id: of the message.
        key: as its sender made it out. What stood there when the sender looked was no repeat of it, so only an
            equal input of its generation or a later one is the same message.
    """
    digests = [each.get("digest") for each in inputs if each["id"] == message_id]
    for generation in range(key.generation, len(digests)):
        if digests[generation] == key.intent:
            return generation, True
    return max(key.generation, len(digests)), False


async def position(store: Store, task: str, message_id: str, digest: str) -> int:
    """The journal position of the newest input of this messageId and content, 0 if it is not there yet."""
    after = found = 0
    while entries := await store.entries(task, after, READ_CHUNK):
        after = entries[-1].seq
        for entry in entries:
            if entry.kind is Kind.INPUT and entry.body:
                body = parse_stored(entry.body)
                if (body["id"], body.get("digest")) == (message_id, digest):
                    found = entry.seq
    return found
