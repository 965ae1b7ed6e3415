"""A front: what clients are told by one sidecar, owner or not.

It shows committed entries only: of its own journal where this sidecar owns the handoff, else of what the nearest
voter knows to be committed. This file must not decide anything about a handoff. The failures it must not add: an
entry shown before its commit, a read that goes backwards, a later message taken twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bridge.a2a.fold import TaskFold
from bridge.a2a.refold import FOLDED, advance, refold
from bridge.handoff import State
from bridge.journal import TERMINAL, Draft, Entry, Kind
from bridge.jsontext import parse_stored, write
from tests.simulation.network import Connection

if TYPE_CHECKING:
    from tests.simulation.clients import Client
    from tests.simulation.hand import Hand
    from tests.simulation.sidecar import Sidecar

Json = dict[str, Any]
SHOWN = FOLDED - {Kind.DISPATCHED, Kind.INPUT}
Told = Callable[[str], None]
GONE = -1


class Follower:
    """One stream of one client."""

    def __init__(self, task: str, client: Client, connection: Connection, cursor: int, *, snapshot: bool) -> None:
        self.task, self.client, self.connection = task, client, connection
        self.cursor, self.snapshot = cursor, snapshot


class Front:
    """The clients' side of a sidecar.

    Attributes:
        wanted: bodies of dispatches that clients wait for, by task.
    """

    def __init__(self, car: Sidecar) -> None:
        self.car = car
        self.wanted: dict[str, Json] = {}
        self._followers: list[Follower] = []
        self._left: dict[str, list[tuple[Kind, Json, Told]]] = {}
        self._floor: dict[str, int] = {}

    def crash(self) -> None:
        """The process has ended: connections break, memory is gone."""
        for follower in self._followers:
            follower.connection.close(ended=False)
        self.wanted, self._followers, self._left, self._floor = {}, [], {}, {}

    # --- what clients ask -------------------------------------------------------------------------------------

    def send(self, client: Client, connection: Connection, task: str, body: Json) -> None:
        """SendStreamingMessage of a message that begins a task, for the first time or again."""
        stored = self.car.nearest(task)
        if not stored.entries and not stored.view.purged:
            self.wanted[task] = body
            self.car.stand(task, "accepted")
        self._follow(Follower(task, client, connection, 0, snapshot=False))

    def subscribe(self, client: Client, connection: Connection, task: str, cursor: int | None) -> None:
        """SubscribeToTask: the Task and what follows, or what follows an event that the client has."""
        self._follow(Follower(task, client, connection, cursor or 0, snapshot=cursor is None))

    def get(self, task: str, reply: Callable[[int, bool, Json | None], None]) -> None:
        """GetTask: the position that is shown, whether it is fresh, the Task; 0 where it cannot be told, ``GONE``
        where it was purged: to clients that is not found."""
        if self.gone(task):
            self.car.world.watch.not_found(self.car, task)
            reply(GONE, False, None)
            return
        entries, upto, known = self.visible(task)
        hand = self.car.hands.get(task)
        if not known or upto < self._floor.get(task, 0):
            reply(0, False, None)
            return
        self._floor[task] = upto
        fresh = hand is not None and hand.tells()
        self.car.world.watch.read(self.car, task, upto, fresh)
        self._watch(task, entries[:upto])
        reply(upto, fresh, refold(entries[:upto]).task())

    def take(self, kind: Kind, task: str, body: Json, told: Told) -> None:
        """A later message, or the wish to cancel: for the owner, here or elsewhere, or for whoever becomes it."""
        hand = self.car.hands.get(task)
        if hand is not None and hand.owner:
            self._record(hand, kind, body, told)
            return
        if self.gone(task):
            told("over")
            return
        self._left.setdefault(task, []).append((kind, body, told))
        if hand is None:
            stored = self.car.nearest(task)
            holder = self.car.world.sidecar_of(stored.view.tip.fence.session)
            if holder is not None and holder is not self.car:
                label = f"{self.car.name}>{holder.name} {kind}"
                self.car.world.network.send(
                    self.car, holder, 0, label, holder.front.passed_on, kind, task, body, told
                )

    def passed_on(self, kind: Kind, task: str, body: Json, told: Told) -> None:
        """Another front has it for the owner."""
        hand = self.car.hands.get(task)
        if hand is not None and hand.owner:
            self._record(hand, kind, body, told)

    def owned(self, hand: Hand) -> None:
        """A hand has become the owner."""
        self.wanted.pop(hand.task, None)
        for kind, body, told in self._left.pop(hand.task, []):
            self._record(hand, kind, body, told)

    def _record(self, hand: Hand, kind: Kind, body: Json, told: Told) -> None:
        handoff, pursuit = hand.handoff, hand.pursuit
        if handoff.terminal is not None or handoff.state is State.ORPHANED or pursuit is None:
            hand.when_committed(handoff.tip.seq, lambda: told("over" if handoff.terminal else "again"))
            return
        if kind is Kind.CANCEL:
            if handoff.cancel is None and not hand.write([Draft(kind, write(body))], pursuit.decide):
                return  # there is no room for it: whoever wishes it repeats it
            hand.when_committed(handoff.tip.seq, lambda: told("taken"))
            return
        if kind is Kind.RESOLVED:
            if handoff.review is not None and handoff.review["attempt"] == body["attempt"]:
                self.car.kernel.fired["review resolved"] += 1
                # Whoever may run it takes it from here; the owner of a review has nothing that runs.
                hand.write([Draft(kind, write(body))], pursuit.given_up)
            return
        at = hand.recorded.get(body["id"])
        if at is None:
            at = hand.write([Draft(kind, write(body))], lambda: pursuit.input_committed(body))
            if not at:
                return
            hand.recorded[body["id"]] = at
            pursuit.note_input(body)
        else:
            self.car.kernel.fired["repeat attached"] += 1
        hand.when_committed(at, lambda: told("taken"))

    # --- what clients are shown -------------------------------------------------------------------------------

    def gone(self, task: str) -> bool:
        """Whether only a tombstone is left of it here, and nobody here owns it."""
        hand = self.car.hands.get(task)
        return (hand is None or not hand.owner) and self.car.nearest(task).view.purged

    def visible(self, task: str) -> tuple[Sequence[Entry], int, bool]:
        """Entries, how many of them may be shown, and whether that is all that was ever shown here."""
        hand = self.car.hands.get(task)
        if hand is not None and hand.owner:
            return hand.log, hand.committed, True
        stored = self.car.nearest(task)
        committed = stored.view.committed
        # Before a crash this front may have shown more than its own disk knows to be committed: it says nothing
        # of its own until somebody has told it since.
        # An end that is known to be committed has nothing behind it that anybody could have been shown.
        known = self.knows_all(task) or self.car.sweep.ended(task, committed)
        return stored.entries, committed, known and committed > 0

    def knows_all(self, task: str) -> bool:
        """Whether it has heard in this life of everything that it can have shown in an earlier one."""
        voter = self.car.voter
        if voter is None or voter.knows_all(voter.durable(task)) or self.car.looks.told.get(task, False):
            return True
        # A host that was a voter once may hear late of what it was told then: only its owner's word counts there.
        return len(self.car.world.names) == self.car.world.options.voters and task in voter.heard

    def _follow(self, follower: Follower) -> None:
        if all(each.connection is not follower.connection for each in self._followers):  # one request, sent twice
            self._followers.append(follower)
            self._push(follower)

    def moved(self, task: str) -> None:
        """More may be shown."""
        for follower in self._followers:
            if follower.task == task:
                self._push(follower)

    def _push(self, follower: Follower) -> None:
        if self.gone(follower.task):
            self._tell_gone(follower)
            return
        entries, upto, known = self.visible(follower.task)
        if upto <= follower.cursor and not (follower.snapshot and known):
            return
        if follower.snapshot:
            if not known or upto < self._floor.get(follower.task, 0):
                return
            follower.snapshot = False
            self._snapshot(follower, entries[:upto])
            follower.cursor = upto
        over = False
        world = self.car.world
        for entry in entries[follower.cursor : upto]:
            if entry.kind in SHOWN:
                self._watch(follower.task, (entry,))
                event = world.event_of(entry)
                if event is not None:
                    label = f"{self.car.name}>{follower.client.name} event"
                    follower.connection.send(label, follower.client.event, follower.task, entry.seq, event)
        self._floor[follower.task] = max(self._floor.get(follower.task, 0), upto)
        follower.cursor = max(follower.cursor, upto)
        over = any(entry.kind in TERMINAL for entry in entries[:upto])
        if over:
            follower.connection.close(ended=True)

    def _tell_gone(self, follower: Follower) -> None:
        if follower.connection.open:
            self.car.world.watch.not_found(self.car, follower.task)
            label = f"{self.car.name}>{follower.client.name} gone"
            follower.connection.send(label, follower.client.gone, follower.task)
            follower.connection.close(ended=True)

    def _snapshot(self, follower: Follower, entries: Sequence[Entry]) -> None:
        self._watch(follower.task, entries)
        fold = TaskFold()
        for entry in entries:
            if entry.kind in FOLDED and entry.body is not None:
                fold = advance(fold, entry.kind, parse_stored(entry.body))
        if fold.exists:
            label = f"{self.car.name}>{follower.client.name} task"
            event = {"task": fold.task()}
            follower.connection.send(label, follower.client.event, follower.task, len(entries), event)

    def _watch(self, task: str, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.car.world.watch.shown(self.car, task, entry)

    def tick(self) -> None:
        """Some time has passed: forget streams that are over, stand again for what clients wait for."""
        car = self.car
        self._followers = [each for each in self._followers if each.connection.open]
        for follower in self._followers:
            self._push(follower)
        for task in list(self.wanted):
            stored = car.nearest(task)
            if stored.entries or stored.view.purged:
                del self.wanted[task]
            elif task not in car.hands:
                car.stand(task, "accepted")
        for task, left in list(self._left.items()):
            hand = car.hands.get(task)
            if self.gone(task):
                for _, _, told in self._left.pop(task):
                    told("over")
            elif hand is None and not car.blocked(task):
                car.stand(task, left[0][0].value)
            elif hand is not None and hand.owner:
                self.owned(hand)
