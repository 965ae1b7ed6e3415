"""A sidecar's session in one of its lives: renewals that go out, answers that count, the release at its end.

``bridge.session.OwnSession`` says for how long what was answered counts. This file must not contain a rule; it
carries messages. The failure it must not add: an answer that counts although its voter does not stand by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridge.session import OwnSession, Renewal
from bridge.voterset import Voters, everyone
from tests.simulation.options import MARGIN_MS, TTL_MS

if TYPE_CHECKING:
    from tests.simulation.database import Database
    from tests.simulation.sidecar import Sidecar


class Session:
    """One life's session.

    Args:
        car: whose.
        incarnation: which life.

    Attributes:
        renewal: what voters are told.
        own: what they have answered.
        released: it let go of everything.
    """

    def __init__(self, car: Sidecar, incarnation: int) -> None:
        self.renewal = Renewal(car.name, incarnation, f"{car.name}.{incarnation}")
        self.own = OwnSession(self.name, TTL_MS, MARGIN_MS)
        self.released = False
        self._car, self._life = car, car.life

    @property
    def name(self) -> str:
        """Its boot nonce, which fences carry."""
        return self.renewal.session

    def may_write(self, sets: tuple[Voters, ...]) -> bool:
        """Whether it lives, as its owner counts, for handoffs with these voters."""
        return not self.released and self.own.may_write(sets, self._car.clock.ms())

    def may_act(self, sets: tuple[Voters, ...], proven_ms: dict[str, int]) -> bool:
        """Whether effects of a handoff may begin that has these voters and these proofs."""
        return not self.released and self.own.may_act(sets, proven_ms, self._car.clock.ms())

    def answered(self, voter: str, sent_ms: int) -> None:
        """A voter that stands by it has answered what was sent at that time."""
        if self.own.answered(voter, sent_ms, self._car.clock.ms()):
            for hand in list(self._car.hands.values()):
                hand.contact(voter)

    def tick(self) -> None:
        """Renew where it is due: at every voter of what it has, or had and wants back."""
        if self.released:
            return
        car, now = self._car, self._car.clock.ms()
        sets = [each.sets for each in car.hands.values()] + [each.sets for each in car.lapses.values()]
        for voter in everyone([voters for each in sets for voters in each]):
            if self.own.due(voter, now):
                host = car.world.voter_hosts[voter]
                label = f"{car.name}>{host.name} renew"
                car.world.network.send(car, host, 0, label, self._arrives, host, voter, now)

    def _arrives(self, host: Sidecar | Database, voter_id: str, sent_ms: int) -> None:
        voter = host.voter
        if voter is None or voter.disk.identity != voter_id or not voter.hear(self.renewal):
            return
        car = self._car
        label = f"{host.name}>{car.name} renewed"
        car.world.network.send(host, car, self._life, label, self.answered, voter_id, sent_ms)
