"""What the journal says afterwards: verified and exported with the command line, as an operator would.

Knows whose claims an act should have left, not what the act was about. It prevents a demo that believes its own
processes: fences and hashes come from the store that is left.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from examples.demo.evidence import journal_facts
from examples.demo.takeover import Scene


async def read_journal(scene: Scene) -> dict[str, Any]:
    """Verify and export the task's journal, and write down what they say."""
    act, task = scene.act, scene.seen.task_id
    if not task:
        act.check("the journal verifies", kept=False, seen="the client never learnt a task id")
        return {}
    (status, verdict, said), (_, export, _) = await asyncio.gather(
        scene.stage.ask("verify", task, "--json"), scene.stage.ask("export", task)
    )
    act.journal = facts = {"task": task, **journal_facts(export)}
    told = json.loads(verdict) if verdict.strip() else {}
    same = told.get("hash") == facts["hash"]
    act.check(
        "the journal verifies and its export ends in the same hash",
        status == 0 and bool(told.get("ok")) and same,
        said or f"{facts['entries']} entries, chain ends in {facts['hash'][:16]}…",
    )
    check_claims(scene, facts["fences"])
    return facts


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
