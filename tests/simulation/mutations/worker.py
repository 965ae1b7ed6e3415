"""One mutation in a process of its own: worlds are lived through until a promise is seen to be broken.

    python -m tests.simulation.mutations.worker NAME             one line of JSON for the engine
    python -m tests.simulation.mutations.worker NAME --seed 17   one world, with its trace

Without a mutation ("-") it is the control: the same worlds, and nothing may be broken in them. This file must not
import, before the mutation is applied, anything that a mutation could change.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.mutation import OWN, Worlds
from tests.simulation.mutations.patch import apply, is_broken

if TYPE_CHECKING:
    from tests.simulation.world import World

DRAWS_MAX = 20_000  # a seed of these worlds must come that often, or the selection selects nothing


def seeds(worlds: Worlds) -> Iterator[int]:
    """Seeds of such worlds, in order."""
    from tests.simulation.options import drawn

    seed = last = 0
    while worlds.story:
        yield seed
        seed += 1
    while seed - last < DRAWS_MAX:
        options = drawn(random.Random(seed))
        if (
            all(options.has(fault) for fault in worlds.on)
            and not any(options.has(fault) for fault in worlds.off)
            and all(getattr(options, name) == value for name, value in worlds.having.items())
        ):
            yield seed
            last = seed
        seed += 1
    raise LookupError(f"no seed from {last} to {seed} is {worlds}")


def life(worlds: Worlds, seed: int) -> Callable[[], object]:
    """What lives through a seed."""
    if worlds.story:
        from tests.simulation.scenarios.__main__ import SCENARIOS

        return partial(next(each for each in SCENARIOS if each.key == worlds.story).play, seed)
    from tests.simulation.world import World

    return World(seed).run


def broken_by(live: Callable[[], object]) -> tuple[str, str] | None:
    """Live through something: whose promise was broken, and how."""
    from bridge.errors import BridgeError, InvariantViolation
    from tests.simulation.checkers.promise import Broken

    try:
        live()
    except Broken as broken:
        return str(broken).partition(":")[0], str(broken)
    except (InvariantViolation, BridgeError) as stopped:
        return OWN, f"{type(stopped).__name__}: {stopped}"
    except Exception as fault:  # noqa: BLE001  (a shell that a broken rule has led astray)
        return f"error {type(fault).__name__}", f"{type(fault).__name__}: {fault}"
    return None


def search(promise: str, worlds: Worlds, seeds_max: int) -> dict[str, Any]:
    """Worlds in order until a promise is seen to be broken: this one, or any where none is named.

    Returns:
        ``ran``: how many worlds; ``caught``: promise, seed and what was said; ``first``: the same of whatever was
        seen before, with the number of worlds until then; ``seconds``.
    """
    began = time.monotonic()
    found: dict[str, Any] = {"ran": 0, "caught": None, "first": None, "others": {}}
    for seed in seeds(worlds):
        found["ran"] += 1
        seen = broken_by(life(worlds, seed))
        if seen is not None:
            note = {"promise": seen[0], "seed": seed, "said": seen[1][:300], "ran": found["ran"]}
            found["first"] = found["first"] or note
            if promise in ("", seen[0]):
                found["caught"] = note
                break
            found["others"][seen[0]] = found["others"].get(seen[0], 0) + 1
        if found["ran"] >= seeds_max:
            break
    found["seconds"] = time.monotonic() - began
    return found


def show(worlds: Worlds, seed: int) -> None:
    """One world, with its trace; of a story what was said at its end."""
    live = life(worlds, seed)
    seen = broken_by(live)
    if not worlds.story:
        world: World = live.__self__  # type: ignore[attr-defined]
        say("\n".join(world.kernel.trace))
        say(f"seed {seed}: {world.options}")
    say(seen[1] if seen else "every promise was kept")


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations.worker")
    parser.add_argument("name", help="of a mutation; - for the control")
    parser.add_argument("--like", default="", help="the control: in the worlds of this mutation")
    parser.add_argument("--seeds", type=int, help="how many worlds at most")
    parser.add_argument("--seed", type=int, help="only this one, with its trace")
    asked = parser.parse_args()
    named = {mutation.name: mutation for mutation in MUTATIONS}
    mutation = named[asked.name] if asked.name != "-" else None
    model = mutation or named[asked.like]
    if mutation is not None:
        apply(mutation)
    if asked.seed is not None:
        show(model.worlds, asked.seed)
        return
    found = search(mutation.promise if mutation else "", model.worlds, asked.seeds or model.seeds_max)
    if mutation is not None:
        found["unbroken"] = [
            module for module in {edit.module for edit in mutation.edits} if not is_broken(module)
        ]
    say(json.dumps(found))


if __name__ == "__main__":
    main()
