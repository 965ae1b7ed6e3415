"""What the journal says afterwards: verified and exported with the command line, as an operator would.

Knows whose claims an act should have left, not what the act was about. It prevents a demo that believes its own
processes: fences and hashes come from the store that is left.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any, Final

from examples.demo.cast import DESTROY_THE_REST
from examples.demo.evidence import journal_facts
from examples.demo.takeover import Scene

AGREE_S: Final = 10.0


async def read_journal(scene: Scene) -> dict[str, Any]:
    """Verify and export the task's journal, and write down what they say."""
    act, task = scene.act, scene.seen.task_id
    if not task:
        act.check("the journal verifies", kept=False, seen="the client never learnt a task id")
        return {}
    stores = scene.cast.stores()
    if scene.cast.pair:
        facts = await _kept_by_the_other(scene)
    elif stores:
        facts = await _agreed(scene, stores)
    else:
        facts, fault = await _read(scene, scene.stage.store)
        act.check(
            "the journal verifies and its export ends in the same hash",
            not fault,
            fault or f"{facts['entries']} entries, chain ends in {facts['hash'][:16]}…",
        )
    act.journal = facts
    check_claims(scene, facts["fences"])
    return facts


async def _agreed(scene: Scene, stores: dict[str, str]) -> dict[str, Any]:
    """What all of them say in the end; the last entries reach each by itself, a moment later."""
    deadline = time.monotonic() + AGREE_S
    while True:
        read = await asyncio.gather(*(_read(scene, store) for store in stores.values()))
        ends = {facts["hash"] for facts, _ in read}
        if (len(ends) == 1 and not any(fault for _, fault in read)) or time.monotonic() > deadline:
            break
    faults = [f"{name}: {fault}" for name, (_, fault) in zip(stores, read, strict=True) if fault]
    counts = ", ".join(f"{name} {facts['entries']}" for name, (facts, _) in zip(stores, read, strict=True))
    facts = max((facts for facts, _ in read), key=lambda facts: int(facts["entries"]))
    scene.act.check(
        f"the journals of the {len(stores)} hosts that are left verify and are the same",
        len(ends) == 1 and len(stores) > 1 and not faults,
        "; ".join(faults) or f"{counts} entries, each ends in {', '.join(f'{end[:16]}…' for end in sorted(ends))}",
    )
    hosts = {name: facts["hash"] for name, (facts, _) in zip(stores, read, strict=True)}
    return facts | {"hosts": hosts}


async def _kept_by_the_other(scene: Scene) -> dict[str, Any]:
    """What the other host of a pair says once nothing is left of the one that took the task in."""
    cast = scene.cast
    gone = scene.side or cast.sides[0]
    at, what = DESTROY_THE_REST.fall(gone)
    scene.note("demo", what, at)
    scene.display.cast(cast.states())
    left = cast.other(gone).letter
    facts, fault = await _read(scene, cast.stores()[f"sidecar {left}"])
    scene.act.check(
        f"nothing is left of host {gone.letter}, and the journal of host {left} verifies to its end",
        bool(facts["ended"]) and not fault,
        fault or f"{facts['entries']} entries, chain ends in {facts['hash'][:16]}…",
    )
    return facts


async def _read(scene: Scene, store: str) -> tuple[dict[str, Any], str]:
    """What a store's journal says, and what is wrong with it."""
    task, stage = scene.seen.task_id, scene.stage
    (status, verdict, said), (_, export, _) = await asyncio.gather(
        stage.ask(store, "verify", task, "--json"), stage.ask(store, "export", task)
    )
    facts = {"task": task, **journal_facts(export)}
    told = json.loads(verdict) if verdict.strip() else {}
    if status == 0 and told.get("ok") and told.get("hash") == facts["hash"]:
        return facts, ""
    return facts, said or f"verify tells {told.get('hash')}, the export ends in {facts['hash']}"


def check_claims(scene: Scene, fences: list[dict[str, Any]]) -> None:
    """Whether the claims are the takeover's: by whom they should be, each under a higher fence."""
    cast = scene.cast
    owners = [str(fence["owner"]) for fence in fences]
    wanted = [cast.gateway] if cast.gateway else []
    if scene.side is not None:
        wanted += [scene.side.sidecar, cast.other(scene.side).sidecar]
    numbers = [fence["n"] for fence in fences]
    sessions = {fence["session"] for fence in fences}
    rise = numbers == sorted(set(numbers)) and len(sessions) == len(fences)
    told = " → ".join(f"{n} ({owner})" for n, owner in zip(numbers, owners, strict=True))
    taken = "the gateway handed it on, then " if cast.gateway else ""
    scene.act.check(
        f"{taken}ownership moved once, to a higher fence of another session",
        rise and owners == [each.label for each in wanted],
        told or "no claim",
    )
