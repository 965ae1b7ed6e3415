"""Twenty clients who want things: send and follow, wait, poll, answer, cancel, watch others, look through lists.

Each does one thing after the other, chosen by its own seeded dice, and does it to the end: a client whose gateway
went away goes on at any gateway that answers. What it sees is written down by ``wire``; nothing is judged here.
"""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.storm.history import History
from tests.chaos.storm.script import Script
from tests.chaos.storm.wire import ASKS, Seen, Wire

Json = dict[str, Any]
AGAIN_S = 0.3
REST_EVERY = 3
"""Every third client speaks HTTP+JSON."""

WANTS = {
    "stream": 6, "block": 3, "poll": 2, "watch": 5, "browse": 2, "ask": 3, "cancel": 2, "late_cancel": 1,
    "echo": 1,
}  # fmt: skip
STEPS = (3, 10, 20, 40)
KINDS = {"steady": 3, "long": 3, "prose": 2, "twins": 2}


@dataclass(slots=True)
class Board:
    """What all clients of a storm share.

    Attributes:
        gates: name to URL.
        alive: tasks that somebody follows.
        known: every task that a client has heard of.
        until: when nobody begins anything new (a clock like the history's).
        steps: how many steps a task may have.
    """

    gates: dict[str, str]
    history: History
    seed: int
    until: float = 0.0
    steps: tuple[int, ...] = STEPS
    alive: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)


class StormClient:
    """One client."""

    def __init__(self, number: int, board: Board) -> None:
        self.name = f"client-{number:02d}"
        self._board = board
        self._dice = random.Random(f"client {board.seed} {number}")
        self._home = list(board.gates)[number % len(board.gates)]
        self._binding = "HTTP+JSON" if number % REST_EVERY == REST_EVERY - 1 else "JSONRPC"
        self._wires: dict[tuple[str, bool], Wire] = {}
        self._nonces = 0
        self.doing = "nothing"

    async def run(self) -> None:
        """Want one thing after the other until the storm is over."""
        try:
            while self._board.history.now() < self._board.until:
                want = self._dice.choices(list(WANTS), list(WANTS.values()))[0]
                self.doing = want
                await getattr(self, f"_{want}")()
                await asyncio.sleep(self._dice.uniform(0.05, 0.4))
            self.doing = "nothing"
        finally:
            await self.close()

    async def close(self) -> None:
        """Hang up."""
        for wire in self._wires.values():
            await wire.close()

    # --- wants --------------------------------------------------------------------------------------------------

    async def _stream(self) -> None:
        await self._follow(self._message(self._script(self._kind())))

    async def _ask(self) -> None:
        script = self._script("ask", questions=self._dice.randint(1, 2), steps=self._dice.randint(1, 6))
        seen = await self._follow(self._message(script))
        while seen.state == ASKS:
            await asyncio.sleep(self._dice.uniform(0, 2))
            self._nonces += 1
            seen = await self._follow(self._message(f"answer {self.name} {self._nonces}", taskId=seen.task))

    async def _block(self) -> None:
        await self._insist(lambda wire: wire.send, self._message(self._script(self._kind(), steps=8)), again=True)

    async def _echo(self) -> None:
        await self._insist(lambda wire: wire.send, self._message(self._script("echo")), again=True)

    async def _poll(self) -> None:
        seen = await self._insist(
            lambda wire: wire.send, self._message(self._script(self._kind())), again=True, returnImmediately=True
        )
        self._heard(seen)
        while seen.task and not seen.over:
            await asyncio.sleep(self._dice.uniform(0.1, 0.8))
            task = seen.task
            seen = await self._retried(lambda wire, task=task: wire.get(task))  # type: ignore[misc]
            seen.task = task
        self._board.alive.discard(seen.task)

    async def _watch(self) -> None:
        if not self._board.alive:
            return
        task = self._dice.choice(sorted(self._board.alive))
        leaves_at = self._board.history.now() + self._dice.choice((0.5, 2.0, 3600.0))
        await self._go_on(Seen(task=task), lambda _: self._board.history.now() > leaves_at, fresh=True)

    async def _browse(self) -> None:
        token, size = "", self._dice.choice((5, 20, 100))
        for _ in range(self._dice.randint(1, 3)):
            seen = await self._retried(lambda wire, token=token: wire.page(token, size))  # type: ignore[misc]
            token = seen.answer.get("nextPageToken", "")
            if not token:
                break
        for task in self._dice.sample(sorted(self._board.known), min(3, len(self._board.known))):
            await self._retried(lambda wire, task=task: wire.get(task))  # type: ignore[misc]

    async def _cancel(self) -> None:
        await self._cancelled(self._script("endless", steps=4000), self._dice.uniform(0.2, 4))

    async def _late_cancel(self) -> None:
        script = self._script(self._kind())
        await self._cancelled(script, script.steps * script.pace * self._dice.uniform(0.3, 1.2))

    async def _cancelled(self, script: Script, after_s: float) -> None:
        heard = asyncio.Event()
        named = Seen()

        def note(seen: Seen) -> bool:
            named.task = seen.task
            if seen.task or seen.message:
                heard.set()
            return False

        following = asyncio.ensure_future(self._follow(self._message(script), note))
        try:
            await heard.wait()
            await asyncio.sleep(after_s)
            while not following.done():
                seen = await self._wire(self._gate(), streaming=False).cancel(named.task)
                if seen.error is None or seen.error == "-32002":
                    break
                await asyncio.sleep(AGAIN_S)
            await following
        finally:
            following.cancel()

    # --- how a client goes on -----------------------------------------------------------------------------------

    async def _follow(self, message: Json, leave: Callable[[Seen], bool] = lambda _: False) -> Seen:
        """Send, and follow to a question or the end, wherever that has to be done."""
        seen = await self._insist(lambda wire: wire.send, message, leave)
        self._heard(seen)
        if seen.over or seen.error == "-32004" or (seen.state == ASKS and seen.error is None):
            self._board.alive.discard(seen.task if seen.over else "")
            return seen
        return await self._go_on(seen, leave)

    async def _go_on(self, seen: Seen, leave: Callable[[Seen], bool], *, fresh: bool = False) -> Seen:
        """Subscribe, again and again, until the task asks or ends."""
        task, last = seen.task, seen.last
        asked = seen.state == ASKS

        def done(now: Seen) -> bool:
            return leave(now) or (now.state == ASKS and not fresh)

        while not asked:
            after = last if last is not None and self._dice.random() < 0.5 else None
            seen = await self._wire(self._gate()).subscribe(task, after, done)
            last = seen.last if seen.last is not None else last
            if seen.error == "-32004":  # it has ended while nobody listened
                seen = await self._retried(lambda wire: wire.get(task))
                seen.task = task
                break
            if seen.over or seen.state == ASKS or (seen.error is None and leave(seen)):
                break
            await asyncio.sleep(AGAIN_S if seen.error else 0)
        if seen.over:
            self._board.alive.discard(task)
        return seen

    async def _insist(
        self, way: Callable[[Wire], Any], message: Json, leave: Callable[[Seen], bool] = lambda _: False,
        *, again: bool = False, **configuration: Any,
    ) -> Seen:  # fmt: skip
        """Send a message, the same one, until it is known what became of it."""
        while True:
            seen: Seen = await way(self._wire(self._gate(), streaming=not again))(message, leave, **configuration)
            if seen.error is None or seen.error == "-32004" or (seen.last is not None and seen.task):
                if again:
                    self._heard(seen)
                    self._board.alive.discard(seen.task if seen.over else "")
                return seen
            await asyncio.sleep(AGAIN_S)

    async def _retried(self, ask: Callable[[Wire], Any]) -> Seen:
        while True:
            seen: Seen = await ask(self._wire(self._gate()))
            if seen.error is None:
                return seen
            await asyncio.sleep(AGAIN_S)

    def _heard(self, seen: Seen) -> None:
        if seen.task:
            self._board.known.add(seen.task)
            if not seen.over:
                self._board.alive.add(seen.task)

    def _gate(self) -> str:
        """Mostly the same one."""
        return self._home if self._dice.random() < 0.7 else self._dice.choice(list(self._board.gates))

    def _wire(self, gate: str, *, streaming: bool = True) -> Wire:
        wire = self._wires.get((gate, streaming))
        if wire is None:
            wire = Wire(
                self.name, gate, self._board.gates[gate], self._board.history, streaming=streaming,
                binding=self._binding,
            )  # fmt: skip
            self._wires[gate, streaming] = wire
        return wire

    def _kind(self) -> str:
        return self._dice.choices(list(KINDS), list(KINDS.values()))[0]

    def _script(self, kind: str, steps: int = 0, questions: int = 0) -> Script:
        self._nonces += 1
        nonce = f"{self.name[-2:]}x{self._nonces}"
        steps = steps or self._dice.choice(self._board.steps)
        pace = self._dice.choice((0.02, 0.05, 0.1, 0.2)) if kind != "endless" else 0.1
        return Script(kind, nonce, steps, pace, self._dice.choice((1, 1, 5)), questions)

    @staticmethod
    def _message(text: Script | str, **fields: Any) -> Json:
        said = text.text if isinstance(text, Script) else text
        base = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": said}]}
        return base | fields
