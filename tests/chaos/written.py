"""Journals as a sidecar that died in the middle of something would have left them, written straight to a store."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bridge.a2a.refold import refold
from bridge.envelope import MessageKey, digest_of_message, handoff_id, intent_of_message, task_id
from bridge.handoff import Handoff
from bridge.journal import Draft, Entry, Fence, Kind, Tip, chain, genesis
from bridge.jsontext import write
from bridge.quorum import Append, Appended
from sidecar.records import Caller
from sidecar.runtime.clock import HostClock
from sidecar.runtime.views import row_of
from sidecar.store import Store

Json = dict[str, Any]
CONTEXT = "c0ffee"


def _now() -> Json:
    clock = HostClock()
    return {"boot": clock.boot, "ms": int(clock.monotonic() * 1000)}


class Journal:
    """One handoff's journal in the making.

    Args:
        text: of the client's message.
        group: of the agents that may run it.
        owner: whose claim it holds.
        session: of that owner.
    """

    def __init__(self, text: str, group: str, owner: str, session: str) -> None:
        self.params: Json = {
            "message": {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        }
        key = MessageKey("", "anonymous", None, self.params["message"]["messageId"])
        intent = intent_of_message(self.params)
        self.task = task_id(key, 0)
        self.fence = Fence(1, session)
        self._owner = owner
        self._drafts: list[Draft] = []
        named = {**key._asdict(), "messageId": key.message_id, "generation": 0}
        self.add(
            Kind.DISPATCHED, task=self.task, handoff=handoff_id(intent), intent=intent, voters=["self"], key=named,
            protocol="1.0", group=group, context=CONTEXT, extensions=[], accepted=_now(),
        )  # fmt: skip

    def add(self, kind: Kind, **body: Any) -> Journal:
        self._drafts.append(Draft(kind, write(body)))
        return self

    def claimed(self) -> Journal:
        return self.add(Kind.CLAIMED, owner=self._owner, attempt=1, reason="accepted")

    def bound(self, endpoint: str, agent_task: str = "") -> Journal:
        return self.add(Kind.BOUND, endpoint=endpoint, task=agent_task, context=CONTEXT, fresh=True)

    def shown(self, state: str, text: str = "", kind: Kind = Kind.EVENT) -> Journal:
        ids = {"taskId": self.task, "contextId": CONTEXT}
        if kind is Kind.EVENT and state == "SUBMITTED":
            status = {"state": "TASK_STATE_SUBMITTED"}
            task = {"id": self.task, "contextId": CONTEXT, "status": status, "history": [self.params["message"]]}
            return self.add(kind, event={"task": task})
        said: Json = {"state": f"TASK_STATE_{state}"}
        if text:
            said["message"] = {"messageId": str(uuid.uuid4()), "role": "ROLE_AGENT", "parts": [{"text": text}]}
        return self.add(kind, event={"statusUpdate": {**ids, "status": said}})

    def input(self, text: str) -> Journal:
        message = {
            "messageId": str(uuid.uuid4()),
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            "taskId": self.task,
        }
        params = {"message": message}
        return self.add(Kind.INPUT, id=message["messageId"], digest=digest_of_message(params), **params)

    def entries(self) -> list[Entry]:
        at, tip = time.time_ns() // 1_000_000, genesis(self.task)
        entries: list[Entry] = []
        for draft in self._drafts:
            if draft.kind is Kind.CLAIMED and any(entry.kind is Kind.CLAIMED for entry in entries):
                self.fence = self.fence._replace(n=self.fence.n + 1)  # each claim has a fence of its own
            entries += chain(tip, self.fence, at, [draft])
            tip = Tip(self.fence, entries[-1].seq, entries[-1].hash)
        return entries

    def handoff(self) -> Handoff:
        return Handoff.fold(self.task, self.entries())

    async def write(self, store: Store) -> Handoff:
        begin, entries = genesis(self.task), self.entries()
        handoff = Handoff.fold(self.task, entries)
        view = row_of(handoff, refold(entries), Caller(), CONTEXT, entries[-1].at)
        append = Append(self.task, self.fence, begin.seq, begin.hash, entries, 0)
        assert isinstance(await store.voter.dispatch(append, view, []), Appended)
        return handoff


async def write_all(path: Path, journals: Sequence[Journal]) -> list[Handoff]:
    store = await Store.open(str(path))
    try:
        return [await journal.write(store) for journal in journals]
    finally:
        await store.close()
