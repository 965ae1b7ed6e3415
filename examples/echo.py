"""The smallest agent: answers a message with a message, without a task.

    python -m examples.echo --port 9100

A reply is one event, so there is nothing to resume: if the agent dies before it, a sidecar asks another one.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.types import Message, Part, Role

from examples import serving


class Echo(serving.Cancelable):
    """Says what it was told."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer with one message."""
        text = f"echo: {context.get_user_input()}"
        await event_queue.enqueue_event(
            Message(
                role=Role.ROLE_AGENT,
                message_id=str(uuid.uuid4()),
                context_id=context.context_id,
                parts=[Part(text=text)],
            )
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the agent."""
    args = serving.options(__doc__, 9100).parse_args(argv)
    serving.serve(Echo(), serving.card("echo", "Says what it was told.", args), args)


if __name__ == "__main__":
    main()
