"""What strikes a gossiping cluster, one after the other, as the seed has it; then everything is healed.

Kills, restarts, pauses, partitions, members that hear nothing and members that hear late, while messages are lost.
Nothing here knows what ought to come of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.simulation.gossip.world import SECOND, World


def kill(world: World) -> None:
    """Somebody is gone, but never the last two."""
    living = world.living()
    if len(living) > 2:
        world.kill(world.kernel.rng.choice(living))


def restart(world: World) -> None:
    """Somebody begins anew, dead before or not."""
    world.restart(world.kernel.rng.choice(world.nodes))


def pause(world: World) -> None:
    """Somebody stands still for up to half a minute."""
    world.pause(world.kernel.rng.choice(world.living()), int(world.kernel.rng.random() * 30 * SECOND))


def part(world: World) -> None:
    """Two sides, of any sizes."""
    rng = world.kernel.rng
    names = [node.name for node in world.nodes]
    world.part(rng.sample(names, rng.randrange(1, len(names))))


def deafen(world: World) -> None:
    """Somebody sends, and hears nothing."""
    world.deaf[world.kernel.rng.choice(world.nodes).name] = None
    world.kernel.fired["deaf"] += 1


def delay(world: World) -> None:
    """Somebody hears everything late."""
    rng = world.kernel.rng
    world.lag_us[rng.choice(world.nodes).name] = int(rng.random() * 3 * SECOND)
    world.kernel.fired["late"] += 1


def lose(world: World) -> None:
    """Messages are lost, up to every fourth."""
    world.loss = world.kernel.rng.random() / 4


STRIKES: Final[tuple[Callable[[World], None], ...]] = (kill, restart, pause, part, deafen, delay, lose, World.heal)


def strike(world: World, times: int) -> None:
    """So many faults, each followed by up to twenty seconds; then all is healed and everybody is there again."""
    rng = world.kernel.rng
    for _ in range(times):
        rng.choice(STRIKES)(world)
        world.run(int(rng.random() * 20 * SECOND))
    world.heal()
    for node in world.nodes:
        if not node.alive:
            world.restart(node)
