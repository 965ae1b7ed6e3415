"""What reading keeps in memory is bounded by bytes, whatever the tasks are like."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.journal import Draft, Entry, Fence, Kind, chain, genesis
from bridge.jsontext import write
from sidecar.records import Caller, ListQuery, TaskView
from sidecar.runtime import reading
from sidecar.runtime.reading import Reading

ME = Caller()
BIG = 10_000


def journal(task: str, chunks: int) -> list[Entry]:
    working = {"task": {"id": task, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}
    bodies = [working] + [
        {"artifactUpdate": {"taskId": task, "contextId": "c", "artifact": {"artifactId": f"a{n}", "parts": [
            {"text": "y" * BIG}]}}}
        for n in range(chunks)
    ]  # fmt: skip
    drafts = [Draft(Kind.EVENT, write({"agent": "a", "event": body})) for body in bodies]
    return chain(genesis(task), Fence(1, "aa"), 1, drafts)


class World:
    """A store with tasks that run elsewhere or have ended."""

    def __init__(self, **finished: bytes) -> None:
        self.finished, self.store, self.owners = finished, self, dict[str, Any]()
        self.most = 0
        self.reads: list[str] = []

    async def entries(self, task: str, after: int, limit: int, bytes_max: int) -> list[Entry]:
        self.reads.append(task)
        assert bytes_max == reading.READ_BYTES
        return [entry for entry in journal(task, 4) if entry.seq > after][:2]

    async def view(self, task: str) -> TaskView:
        self.reads.append(task)
        return TaskView(task, "", ME.principal, "c", "", "TASK_STATE_WORKING", 1, True, self.finished.get(task))

    async def handoff_row(self, _: str) -> Any:
        return SimpleNamespace(voter=SimpleNamespace(tip=SimpleNamespace(seq=9)))

    async def list_tasks(self, query: ListQuery, caller: Caller, body_max: int) -> Any:
        assert body_max == reading.LISTED_AT_ONCE_BYTES
        views = [TaskView(task, "", ME.principal, "c", "", "", 1, True) for task in self.finished]
        return views, len(views), None


def reading_of(world: World) -> Reading:
    return Reading(cast("Any", world), cast("Any", world))


async def test_folds_are_kept_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FOLDS_KEPT_BYTES", 10 * BIG)
    world = World()
    under_test = reading_of(world)
    for n in range(6):
        _, text, _ = await under_test.snapshot(f"t{n}", ME)
        assert text.count(b"y" * BIG) == 4
    assert list(under_test._folds) == ["t4", "t5"]
    assert under_test._folds_bytes == sum(each.size for each in under_test._folds.values()) < 10 * BIG
    monkeypatch.setattr(reading, "FOLDS_KEPT_BYTES", BIG)
    await under_test.snapshot("larger than all", ME)
    assert (len(under_test._folds), under_test._folds_bytes) == (0, 0)


async def test_a_list_reads_bodies_one_by_one_and_keeps_none() -> None:
    body = write({"id": "x", "artifacts": [{"artifactId": "a", "parts": [{"text": "y" * BIG}]}]})
    world = World(a=body, b=body)
    under_test = reading_of(world)
    page = await under_test.list(ListQuery(), ME)
    assert page.tasks == [{"id": "x"}, {"id": "x"}]
    assert world.reads == ["a", "b"]
    assert under_test._finished_bytes == 0
    page = await under_test.list(ListQuery(include_artifacts=True), ME)
    assert [len(task["artifacts"]) for task in page.tasks] == [1, 1]
