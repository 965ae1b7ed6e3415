"""An agent that dies while it pays: its process kills itself inside the call. Run by ``test_helper_agent``."""

from __future__ import annotations

import os
import signal

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue

from examples import serving
from sidecar.worker import declare_durable, durable_run


class Payer(serving.Cancelable):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        run = await durable_run(context, event_queue)
        await run.effect("pay", self._pay)

    @staticmethod
    async def _pay(key: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    args = serving.options("", 0).parse_args()
    serving.serve(Payer(), declare_durable(serving.card("payer", "Dies while it pays.", args)), args)
