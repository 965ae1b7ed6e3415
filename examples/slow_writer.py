"""An ordinary streaming agent that knows nothing of durability: it writes a story, word by word.

    python -m examples.slow_writer --port 9102 --pace 0.05

No checkpoint, a new random artifact id in every run, one status a paragraph. Behind sidecars it still survives:
its run is repeated on a standby, what clients already have is recognised and swallowed, and the text goes on where
it stopped. That works because the agent is deterministic; one that is not is rewound once, visibly, instead.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence

from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part, Task, TaskState, TaskStatus

from examples import serving

STORY = """
In the old port there was a keeper who wrote down every ship. When one came in he opened the ledger, named
her, and drew a line that joined this entry to the one above, so that no page could ever be torn out unseen.

One night, in the middle of a word, the lamp fell and the keeper was gone. On the quay the captains waited,
and nobody told them anything, because nobody had to: the next keeper was already climbing the stairs.

She did not know the ships, but the ledger did. She read it from the first line, murmured every name that had
been called before, and raised her voice again only at the word where his had broken off.

In the morning the captains compared what they had heard. There was no ship twice and none was missing, and
when they asked who had kept the harbour that night, the ledger said both names, one number apart.
"""
PARAGRAPHS = STORY.strip().split("\n\n")


class SlowWriter(serving.Cancelable):
    """Streams the story.

    Args:
        pace: seconds from word to word.
    """

    def __init__(self, pace: float) -> None:
        self._pace = pace

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Write; nothing here differs from any other SDK agent."""
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(
                    id=updater.task_id,
                    context_id=updater.context_id,
                    status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                    history=[context.message] if context.message else [],
                )
            )
        artifact = str(uuid.uuid4())
        first = True
        for number, paragraph in enumerate(PARAGRAPHS, 1):
            await updater.update_status(
                TaskState.TASK_STATE_WORKING,
                updater.new_agent_message([Part(text=f"paragraph {number} of {len(PARAGRAPHS)}")]),
            )
            words = paragraph.split()
            for place, word in enumerate(words, 1):
                await asyncio.sleep(self._pace)
                done = place == len(words)
                last = done and number == len(PARAGRAPHS)
                text = word + ("\n" if done else " ")
                await updater.add_artifact(
                    [Part(text=text)], artifact, name="story", append=not first, last_chunk=last
                )
                first = False
        await updater.complete()


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the agent."""
    parser = serving.options(__doc__, 9102)
    parser.add_argument("--pace", type=float, default=0.05, help="seconds a word, default 0.05")
    args = parser.parse_args(argv)
    serving.serve(SlowWriter(args.pace), serving.card("slow_writer", "Writes a story, slowly.", args), args)


if __name__ == "__main__":
    main()
