"""One probe at a time: ask directly, then through others, and only then accuse.

The prober knows a target, its scouts (who was asked to try), and what each answered. A scout that says "not me
either" is worth two things: it shows that the one who asks is not deaf itself, and when all say so, waiting longer
is of no use. ``Relays`` is the other side: what this member tries for others. This file must not know members,
accusations or messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

RELAYS_MAX = 256
# A scout says "not me either" before the one that asked stops waiting for it.
NACK_AT_PERCENT = 80


class Step(StrEnum):
    """Where a probe is."""

    IDLE = "idle"  # there is none
    DIRECT = "direct"  # the target was pinged
    INDIRECT = "indirect"  # others were asked to ping it
    ANSWERED = "answered"  # it lives
    SILENT = "silent"  # no answer on any path: it is to be accused


class Sign(StrEnum):
    """What moves a probe."""

    BEGUN = "begun"  # it is somebody's turn
    ACKED = "acked"  # an answer came, on whatever path
    REFUSED = "refused"  # there is nobody at the target's address
    LATE = "late"  # the direct answer has had its time
    NACKED = "nacked"  # every scout said that it got no answer either
    OVER = "over"  # the period is over


STEPS: Final[Mapping[Step, Mapping[Sign, Step]]] = {
    Step.IDLE: {Sign.BEGUN: Step.DIRECT},
    Step.DIRECT: {Sign.ACKED: Step.ANSWERED, Sign.REFUSED: Step.INDIRECT, Sign.LATE: Step.INDIRECT},
    Step.INDIRECT: {Sign.ACKED: Step.ANSWERED, Sign.NACKED: Step.SILENT, Sign.OVER: Step.SILENT},
    Step.ANSWERED: {Sign.BEGUN: Step.DIRECT},
    Step.SILENT: {Sign.BEGUN: Step.DIRECT},
}
"""Where a probe goes; what is not named changes nothing."""


class Prober:
    """This member's own probe.

    Attributes:
        step: where the probe is.
        target: who is probed.
        seq: number of its ping, also when others ping for it.
        scouts: who was asked.
    """

    def __init__(self) -> None:
        self.step = Step.IDLE
        self.target = ""
        self.seq = 0
        self.scouts: tuple[str, ...] = ()
        self._nacked: dict[str, None] = {}
        self._late_ms = self._over_ms = 0

    @property
    def running(self) -> bool:
        """Whether an answer is waited for."""
        return self.step in (Step.DIRECT, Step.INDIRECT)

    @property
    def due_ms(self) -> int:
        """When the running probe moves by itself."""
        return self._late_ms if self.step is Step.DIRECT else self._over_ms

    @property
    def unheard(self) -> int:
        """Scouts that said nothing at all, or 1 where there were none: signs that this member is slow itself."""
        return len(self.scouts) - len(self._nacked) if self.scouts else 1

    def begin(self, target: str, seq: int, late_ms: int, over_ms: int) -> None:
        """Probe somebody; a probe that is running is given up without a verdict.

        Args:
            target: who is pinged.
            seq: number of the ping, of no other one of this member.
            late_ms: when others are to be asked.
            over_ms: when it is to be accused.
        """
        self.give_up()
        self._move(Sign.BEGUN)
        self.target, self.seq, self.scouts, self._nacked = target, seq, (), {}
        self._late_ms, self._over_ms = late_ms, over_ms

    def ask(self, scouts: Sequence[str]) -> None:
        """These were asked to help."""
        self.scouts = tuple(scouts)

    def give_up(self) -> None:
        """There was no fair chance of an answer."""
        self.step = Step.IDLE

    def acked(self, sender: str, seq: int) -> bool:
        """An answer came; whether it is the one that is waited for."""
        mine = self.running and seq == self.seq and sender in (self.target, *self.scouts)
        return mine and self._move(Sign.ACKED)

    def nacked(self, sender: str, seq: int) -> bool:
        """A scout got no answer either; whether that settles it."""
        if seq != self.seq or sender not in self.scouts:
            return False
        self._nacked[sender] = None
        return len(self._nacked) == len(self.scouts) and self._move(Sign.NACKED)

    def refused(self, seq: int) -> bool:
        """Nobody is at the target's address; whether others are to be asked now."""
        return seq == self.seq and self._move(Sign.REFUSED)

    def elapsed(self, now_ms: int) -> bool:
        """Time passed; whether the probe has moved."""
        if self.step is Step.DIRECT and now_ms >= self._late_ms:
            # However late this beat is: scouts get the time that they were meant to have.
            self._over_ms = max(self._over_ms, now_ms + self._over_ms - self._late_ms)
            return self._move(Sign.LATE)
        return self.step is Step.INDIRECT and now_ms >= self._over_ms and self._move(Sign.OVER)

    def left_ms(self, now_ms: int) -> int:
        """How long the one that asks still waits."""
        return max(0, self._over_ms - now_ms)

    def _move(self, sign: Sign) -> bool:
        after = STEPS[self.step].get(sign, self.step)
        moved, self.step = after is not self.step, after
        return moved


class Relay(NamedTuple):
    """A ping for another member.

    Attributes:
        asker: who asked.
        seq: its number for it.
        target: who is pinged.
        due_ms: when the asker is told that there was no answer.
    """

    asker: str
    seq: int
    target: str
    due_ms: int


class Relays:
    """What is tried for others, by the number of the ping that was sent.

    Beyond ``RELAYS_MAX`` nothing more is taken: whoever asks has other scouts.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, Relay] = {}

    def begin(self, own_seq: int, relay: Relay) -> bool:
        """Wait for an answer for another; whether there is room."""
        if len(self._waiting) >= RELAYS_MAX:
            return False
        self._waiting[own_seq] = relay
        return True

    def acked(self, sender: str, seq: int) -> Relay | None:
        """An answer came; whom to tell."""
        relay = self._waiting.get(seq)
        return self._waiting.pop(seq) if relay is not None and relay.target == sender else None

    def refused(self, seq: int) -> Relay | None:
        """Nobody was at the address; whom to tell."""
        return self._waiting.pop(seq, None)

    def overdue(self, now_ms: int) -> list[Relay]:
        """Those that are to be told that there was no answer."""
        late = [seq for seq, relay in self._waiting.items() if now_ms >= relay.due_ms]
        return [self._waiting.pop(seq) for seq in late]

    def due_ms(self) -> int | None:
        """When the next of them is due."""
        return min((relay.due_ms for relay in self._waiting.values()), default=None)

    def clear(self) -> None:
        """Forget all of it."""
        self._waiting.clear()
