"""Model clients: they see what a client of A2A sees, and nothing else.

A client sends a message, follows its stream, answers questions, moves to another front when a stream breaks or
falls silent, repeats what was not answered, and reads the Task at the end. Its fold is the test's own
(``model_client``), not the one under test. This file must not know sidecars' insides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bridge.journal import Kind
from tests.simulation.front import GONE
from tests.simulation.kernel import MS, Process
from tests.simulation.network import Connection
from tests.unit.a2a import model_client

if TYPE_CHECKING:
    from tests.simulation.sidecar import Sidecar
    from tests.simulation.world import World

Json = dict[str, Any]
SILENCE_MS = 2_500
REPEAT_MS = 400
ENDS = ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED")


class Client(Process):
    """A client with one task.

    Attributes:
        seen: what it folds from its stream.
        ended: it has seen the end.
        finished: it has seen the end and GetTask, or was told that its task is gone.
        done: it wants nothing more.
        cursor: position of the last event that it was sent.
    """

    def __init__(self, world: World, name: str, task: str, at: Sidecar) -> None:
        super().__init__(name)
        self.world, self.kernel, self.task = world, world.kernel, task
        self.seen = model_client.Client()
        self.done = False
        self.ended = False
        self.finished = False
        self.cursor = 0
        self.front = at
        self._connection: Connection | None = None
        self._heard_us = 0
        self._answered = 0
        self._asked = 0
        self._outstanding: tuple[Kind, Json] | None = None
        self._question: Json | None = None  # that it answered last
        self._reading = self._answers = 0

    @property
    def state(self) -> str:
        """The task's state as it knows it."""
        return str(self.seen.status.get("state", ""))

    # --- its stream -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Send the message."""
        self._heard_us = self.kernel.now
        connection = self._connect()
        body = self.world.dispatch_body(self.task)
        label = f"{self.name}>{self.front.name} send"
        self.world.network.send(
            self, self.front, 0, label, self.front.front.send, self, connection, self.task, body
        )
        self.kernel.after(REPEAT_MS * MS, self, f"{self.name} looks", self._look)

    def _connect(self) -> Connection:
        if self._connection is not None:
            self._connection.drop()
        self._connection = Connection(self.world.network, self.kernel, self.front, self, self._broke)
        return self._connection

    def _again(self) -> None:
        """Follow at some front: with its cursor, or like a stock client from the Task on."""
        if self.ended:
            return
        self.front = self.other_front()
        self._heard_us = self.kernel.now
        network = self.world.network
        if not self.seen.status:
            connection = self._connect()
            body = self.world.dispatch_body(self.task)
            label = f"{self.name}>{self.front.name} send again"
            network.send(self, self.front, 0, label, self.front.front.send, self, connection, self.task, body)
            return
        connection = self._connect()
        cursor = self.cursor if self.kernel.rng.random() < 0.5 else None
        label = f"{self.name}>{self.front.name} subscribe"
        network.send(self, self.front, 0, label, self.front.front.subscribe, self, connection, self.task, cursor)

    def other_front(self) -> Sidecar:
        """Where it turns to when its front does not serve it."""
        return self.kernel.rng.choice(self.world.sidecars)

    def move(self) -> None:
        """It goes away from its front, and follows at another."""
        self._again()

    def _broke(self, ended: bool) -> None:
        if not self.ended:
            self.kernel.fired["stream broke"] += 1
            self.kernel.after(50 * MS, self, f"{self.name} again", self._again)

    def event(self, task: str, seq: int, event: Json) -> None:
        """The next event of its stream."""
        self._heard_us = self.kernel.now
        self.world.watch.received(self, seq, event)
        if "task" in event and self.seen.status:
            self.seen = model_client.Client(event["task"])
        else:
            self.seen.see(event)
        self.cursor = seq
        if self.state in ENDS:
            self.ended = True
            self.kernel.after(1 * MS, self, f"{self.name} reads", self._read)
        elif self._is_asked():
            self._answer()

    def _is_asked(self) -> bool:
        # An answered question stands on as a state, but its message has moved to the history.
        return self.state == "TASK_STATE_INPUT_REQUIRED" and "message" in self.seen.status

    # --- what it says -----------------------------------------------------------------------------------------

    def _answer(self) -> None:
        if self._outstanding is None:
            self._answered += 1
            self._question = self.seen.status["message"]
            text = f"<{self._answered}>"
            message_id = f"{self.name}-{self._answered}"
            message = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
            self._outstanding = (Kind.INPUT, {"id": message_id, "digest": "0", "message": message})
            self._post()

    def cancel(self) -> None:
        """Wish the task to end."""
        if not self.ended and self.seen.status:
            self.kernel.fired["cancel wished"] += 1
            self._outstanding = (Kind.CANCEL, {"reason": "wish"})
            self._post()

    def _post(self) -> None:
        if self._outstanding is None or self.ended:
            return
        self._asked += 1
        asked = self._asked
        fronts = self.fronts()
        self.kernel.fired["one message at two fronts"] += len(fronts) > 1
        kind, body = self._outstanding
        for front in fronts:
            label = f"{self.name}>{front.name} {kind}"

            def told(answer: str, front: Sidecar = front) -> None:
                label = f"{front.name}>{self.name} {answer}"
                self.world.network.send(front, self, self.life, label, self._told, asked, answer)

            self.world.network.send(self, front, 0, label, front.front.take, kind, self.task, body, told)
        self.kernel.after(REPEAT_MS * MS, self, f"{self.name} repeats", self._repeat, asked)

    def fronts(self) -> list[Sidecar]:
        """Where it says something: now and then at two fronts at once."""
        rng = self.kernel.rng
        if self.world.faulty and self.world.options.has("twice") and rng.random() < 0.3:
            return [self.front, rng.choice(self.world.sidecars)]
        return [self.front]

    def _told(self, asked: int, answer: str) -> None:
        if asked == self._asked and answer != "again":
            self._outstanding = None
            # Another question may have come before it heard that its answer was taken.
            if not self.ended and self._is_asked() and self.seen.status["message"] != self._question:
                self._answer()

    def _repeat(self, asked: int) -> None:
        if asked == self._asked and self._outstanding is not None:
            self.front = self.other_front()
            self._post()

    # --- what it reads ----------------------------------------------------------------------------------------

    def _look(self) -> None:
        if self.done:
            return
        if self.kernel.now - self._heard_us > SILENCE_MS * MS:
            self._again()
        if self.ended and self._reading > self._answers:
            self.front = self.other_front()  # nobody answers there
        if self.ended or self.kernel.rng.random() < 0.2:
            self._read()
        self.kernel.after(REPEAT_MS * MS, self, f"{self.name} looks", self._look)

    def _read(self) -> None:
        if self.finished:
            return
        self._reading += 1
        front, reading, begun = self.front, self._reading, self.kernel.now

        def reply(seq: int, fresh: bool, task: Json | None) -> None:
            label = f"{front.name}>{self.name} task"
            self.world.network.send(
                front, self, self.life, label, self._got, reading, seq, fresh, task, front, begun
            )

        label = f"{self.name}>{front.name} get"
        self.world.network.send(self, front, 0, label, front.front.get, self.task, reply)

    def _got(self, reading: int, seq: int, fresh: bool, task: Json | None, front: Sidecar, begun: int) -> None:
        self._answers = max(self._answers, reading)
        if seq == GONE:
            self.gone(self.task)
            return
        if task is None:
            if self.ended and not self.finished:
                self.front = self.other_front()
            return
        self.world.watch.got(self, seq, task)
        if self.ended and task["status"]["state"] not in ENDS:
            self.front = self.other_front()  # this one does not know of the end yet
        if self.ended and task["status"]["state"] in ENDS and not self.finished:
            self.finish()
            self.world.watch.compared(self, task)

    def gone(self, task: str) -> None:
        """Its task was purged: not found, whether or not it has seen the end."""
        if not self.finished:
            self.kernel.fired["gone, its end was " + ("seen" if self.ended else "not seen")] += 1
            self.ended = True
            self.finish()

    def finish(self) -> None:
        """There is nothing more to see."""
        self.finished = self.done = True
