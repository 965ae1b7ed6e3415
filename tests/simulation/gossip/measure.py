"""What gossip costs and how fast it is, for clusters of several sizes: told by the same worlds that are tested.

Rates are over whole periods, and at least one. Bytes are those of the JSON bodies. This file must not judge: what
has to hold is said by the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bridge.gossip.member import State
from bridge.gossip.owners import Tenure
from bridge.journal import Fence
from tests.simulation.gossip.world import SECOND, World


@dataclass(frozen=True)
class Measured:
    """One thing that was measured.

    Attributes:
        what: was waited for.
        came: whether it came about.
        seconds: until it did.
        messages: a member and second, over the periods in which it did.
        bytes: the same.
        largest: message, in bytes.
        besides: whatever else there is to say.
    """

    what: str
    came: bool
    seconds: float
    messages: float
    bytes: float
    largest: int
    besides: str = ""


def measured(world: World, what: str, seconds: float, until: Callable[[], bool] | None = None) -> Measured:
    """Let time pass, until something comes about or not, and say what it cost."""
    begin, count, period = world.kernel.now, len(world.living()), world.pace.period_ms / 1_000
    world.cost.clear()
    came = world.run(int(seconds * SECOND), until)
    took = (world.kernel.now - begin) / SECOND
    rest = -took % period
    world.run(int(rest * SECOND))
    each = count * max(took + rest, period)
    cost = world.cost
    return Measured(
        what, came or until is None, took, cost["messages"] / each, cost["bytes"] / each, cost["largest"]
    )


def settled(seed: int, count: int, *, loss: float = 0.0) -> World:
    """A cluster in which everybody has known everybody for a while."""
    world = World(seed, count, loss=loss)
    world.acquaint()
    world.run(10 * SECOND)
    return world


def idle(world: World) -> Measured:
    """Nothing happens."""
    return measured(world, "idle", 10)


def owner_change(world: World, number: int = 0) -> Measured:
    """One member announces that it owns a handoff; until everybody has heard."""
    count, task = len(world.living()), f"task-{number}"
    node = world.living()[number % count]
    node.gossip.announce(task, Fence(1, node.gossip.me.session), Tenure.OWNS)
    world.carry_out(node, [])
    done = measured(world, "an owner's change: heard by all", 60, lambda: world.heard[task] >= count - 1)
    return replace(done, besides=f"{done.seconds * 1_000 / world.pace.spread_ms:.1f} rounds")


def death(world: World, number: int) -> Measured:
    """One member is killed; until everybody has concluded that it is dead."""
    node, begin = world.nodes[number], world.kernel.now
    world.kill(node)
    world.first.clear()
    count = len(world.living())
    done = measured(world, "a death: concluded by all", 300, lambda: world.holders[State.DEAD, node.name] >= count)
    first = [
        (world.first.get((state, node.name), begin) - begin) / SECOND for state in (State.SUSPECT, State.DEAD)
    ]
    return replace(done, besides=f"suspected after {first[0]:.1f} s, first concluded after {first[1]:.1f} s")


def join(world: World, number: int) -> Measured:
    """A member that was dead for long begins with an empty memory; until all agree on who lives."""
    world.restart(world.nodes[number])
    return measured(world, "a newcomer: all tables equal", 300, world.agreed)


def partition(world: World, apart_s: float) -> Iterator[Measured]:
    """A cluster in two halves for a while; then until everybody holds everybody for living again."""
    half = [node.name for node in world.living()[::2]]
    other = len(world.living()) - len(half)
    world.part(half)
    yield (
        dead := measured(
            world,
            f"{len(half)} and {other} apart: all across dead",
            apart_s,
            lambda: world.verdicts[State.DEAD] >= 2 * len(half) * other and not world.verdicts[State.SUSPECT],
        )
    )
    world.run(max(0, int((apart_s - dead.seconds) * SECOND)))
    world.heal()
    yield measured(world, "healed: nobody suspected, all tables equal", 300, lambda: all_well(world))


def all_well(world: World) -> bool:
    """Whether nobody holds anybody for anything but alive, and all know the same."""
    return not any(world.verdicts.values()) and world.agreed()


def everything(seed: int, count: int, *, loss: float = 0.0, apart_s: float = 60) -> Iterator[Measured]:
    """All of it, one after the other in one cluster."""
    world = settled(seed, count, loss=loss)
    yield idle(world)
    yield owner_change(world)
    yield death(world, count // 2)
    yield join(world, count // 2)
    world.run(10 * SECOND)
    yield from partition(world, apart_s)
