"""What an agent's author may use: a run that knows its last checkpoint. Nothing else has to be learnt.

Lives in the agent's process, so importing it loads nothing: neither the sidecar's server libraries nor the A2A
SDK, which comes in with the first name that is used. Example::

    from a2a.server.agent_execution import AgentExecutor
    from a2a.types import Part
    from sidecar.worker import declare_durable, durable_run

    class Census(AgentExecutor):
        async def execute(self, context, event_queue):
            run = await durable_run(context, event_queue)
            rows = run.last_checkpoint or []
            for url in urls[len(rows) :]:
                rows.append(await fetch(url))
                await run.add_artifact([Part(text=rows[-1])], artifact_id="rows",
                                       append=len(rows) > 1, checkpoint=rows)
            await run.complete()

    card = declare_durable(card)  # the agent's card; without this line the agent is run from the start
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sidecar.worker.card import declare_durable
    from sidecar.worker.durable import DurableRun, durable_run
    from sidecar.worker.ledger import NOT_DONE, RunInfo, UnknownOutcome

__all__ = ["NOT_DONE", "DurableRun", "RunInfo", "UnknownOutcome", "declare_durable", "durable_run"]

_HOMES = {
    "declare_durable": "sidecar.worker.card",
    "DurableRun": "sidecar.worker.durable",
    "durable_run": "sidecar.worker.durable",
    "NOT_DONE": "sidecar.worker.ledger",
    "RunInfo": "sidecar.worker.ledger",
    "UnknownOutcome": "sidecar.worker.ledger",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
