"""Rows for reads, lists and the sweep; keys and the inbox: written with the entries they belong to."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest
from sqlalchemy import Connection, event

from bridge.journal import Draft, Fence, Kind
from bridge.quorum import Appended, Claim, Refused
from sidecar.errors import StoreCorrupt
from sidecar.records import Caller, KeyRow, ListQuery
from sidecar.store import Store
from sidecar.store import pieces as pieces_module
from sidecar.store.schema import AT_WORK, LISTED, OPEN
from tests.contract.journals import beginning, events, following, view_of

A, B = Fence(1, "aa"), Fence(1, "bb")
ME = Caller()


async def filled(store: Store, count: int) -> None:
    await asyncio.gather(
        *(
            store.voter.append(
                beginning(f"t{n:02}", A),
                view_of(f"t{n:02}", status_at=n // 2, context_id=f"c{n % 3}"),
            )
            for n in range(count)
        )
    )


async def test_the_row_for_reads_is_as_old_as_the_entries(store: Store) -> None:
    first = beginning("t", A)
    await store.voter.append(first, view_of("t"))
    assert await store.view("t") == view_of("t")
    done = view_of("t", state="completed", finished=b'{"id":"t"}')
    await store.voter.append(following(first, A, events(1, Kind.COMPLETED, b"{}")), done)
    assert await store.view("t") == done
    assert await store.view("unknown") is None


async def test_a_refused_append_writes_no_row_and_no_key(store: Store) -> None:
    first = beginning("t", A)
    await store.voter.append(first, view_of("t"))
    await store.voter.claim(Claim("t", Fence(2, "bb"), "bb"))
    key = KeyRow("k", 0, "t", "i", False)
    late = await store.voter.append(following(first, A, events(1)), view_of("t", state="completed"), [key])
    assert isinstance(late, Refused)
    assert await store.view("t") == view_of("t")
    assert await store.keys("k") == []


async def test_pages_hold_every_task_once_newest_status_first(store: Store) -> None:
    await filled(store, 23)
    seen, cursor = [], None
    while True:
        page, total, cursor = await store.list_tasks(ListQuery(page_size=5, page_after=cursor), ME)
        assert total == 23
        seen += [(view.status_at, view.task_id) for view in page]
        if cursor is None:
            break
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 23


async def test_a_page_is_stable_while_others_arrive(store: Store) -> None:
    await filled(store, 10)
    first, _, cursor = await store.list_tasks(ListQuery(page_size=4), ME)
    await store.voter.append(beginning("new", A), view_of("new", status_at=99))
    second, _, _ = await store.list_tasks(ListQuery(page_size=4, page_after=cursor), ME)
    assert [view.task_id for view in first + second] == [f"t{n:02}" for n in range(9, 1, -1)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (ListQuery(context_id="c1"), 4),
        (ListQuery(task_state="TASK_STATE_WORKING"), 11),
        (ListQuery(task_state="TASK_STATE_FAILED"), 0),
        (ListQuery(status_after_ms=4), 3),
        (ListQuery(context_id="c1", status_after_ms=4), 1),
    ],
)
async def test_filters(store: Store, query: ListQuery, expected: int) -> None:
    await filled(store, 11)
    page, total, _ = await store.list_tasks(query, ME)
    assert (len(page), total) == (expected, expected)


async def test_others_tasks_and_unlisted_ones_do_not_exist(store: Store) -> None:
    await store.voter.append(beginning("mine", A), view_of("mine"))
    await store.voter.append(beginning("theirs", A), view_of("theirs", principal="other"))
    await store.voter.append(beginning("tenant", A), view_of("tenant", tenant="other"))
    await store.voter.append(beginning("reply", A), view_of("reply", listed=False))
    page, total, _ = await store.list_tasks(ListQuery(), ME)
    assert [view.task_id for view in page] == ["mine"]
    assert total == 1


async def test_the_sweep_sees_open_handoffs_with_their_owner_and_no_finished_one(store: Store) -> None:
    open_, done = beginning("open", A), beginning("done", A)
    await store.voter.append(open_, view_of("open"))
    await store.voter.append(done)
    await store.voter.append(following(done, A, events(1, Kind.FAILED, b"{}")))
    await store.voter.claim(Claim("only-claimed", A, "aa"))
    rows = await store.open_handoffs()
    assert [(row.task, row.owner, row.state, row.released) for row in rows] == [("open", "aa", "claimed", False)]
    await store.voter.append(following(open_, A, events(1, Kind.ORPHANED, b"{}")))
    (row,) = await store.open_handoffs()
    assert row.released
    assert row.voter.tip.seq == 3
    finished = await store.handoff_row("done")
    assert finished is not None
    assert finished.terminal


async def test_what_waits_costs_the_sweep_nothing_and_the_living_are_left_out(store: Store) -> None:
    bound, asked = Draft(Kind.BOUND, b"{}"), Draft(Kind.SUSPENDED, b"{}")
    begun = {
        "at-work": beginning("at-work", A, [bound]),
        "asked": beginning("asked", A, [bound, asked]),
        "answered": beginning("answered", A, [bound, asked]),
        "set-aside": beginning("set-aside", A, events(1, Kind.REVIEW, b"{}")),
        "other": beginning("other", B),
    }
    for begin in begun.values():
        await store.voter.append(begin)  # no row for reads came with it, as at a voter of several

    async def at_work(*but_of: str) -> list[tuple[str, str]]:
        return [(row.task, row.state) for row in await store.handoffs_at_work(but_of)]

    assert await at_work() == [("at-work", "running"), ("other", "claimed")]
    assert await at_work("aa") == [("other", "claimed")]
    await store.voter.append(following(begun["answered"], A, events(1, Kind.INPUT, b"{}")))
    assert await at_work("bb") == [("answered", "claimed"), ("at-work", "running")]
    await store.voter.append(following(begun["at-work"], A, events(1, Kind.ORPHANED, b"{}")))
    assert await at_work("aa", "bb") == [("at-work", "orphaned")]
    assert len(await store.open_handoffs()) == 5


async def test_no_read_by_task_scans_a_table(store: Store) -> None:
    plans: list[str] = []

    def explain(connection: Connection, _: object, statement: str, parameters: object, *__: object) -> None:
        if not statement.startswith("EXPLAIN"):
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
            plans.append(" ".join(row[3] for row in plan))

    engine = store.reads._engine
    event.listen(engine, "before_cursor_execute", explain)
    await store.entries("t")
    await store.view("t")
    await store.handoff_row("t")
    await store.keys("k")
    await store.inbox_take("t")
    assert len(plans) == 5
    assert [plan for plan in plans if "SCAN" in plan.replace("SCAN (subquery-1)", "")] == []


async def test_the_sweep_and_lists_use_their_partial_indexes(store: Store) -> None:
    connection = sqlite3.connect(store.path)

    def plan(sql: str) -> str:
        return " ".join(str(row) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}"))

    assert "handoffs_open" in plan(f"SELECT * FROM handoffs WHERE {OPEN} ORDER BY task")
    sweep = plan(f"SELECT * FROM handoffs WHERE {AT_WORK} ORDER BY task")
    assert "handoffs_open (waits=?)" in sweep
    assert "TEMP B-TREE" not in sweep
    mine = f"{LISTED} AND tenant = '' AND principal = ''"
    order = "ORDER BY status_at DESC, task DESC LIMIT 10"
    listing = plan(f"SELECT * FROM tasks WHERE {mine} {order}")
    assert "tasks_by_status" in listing
    assert "TEMP B-TREE" not in listing
    assert "tasks_by_context" in plan(f"SELECT * FROM tasks WHERE {mine} AND context_id = 'c' {order}")
    connection.close()


async def test_keys_are_kept_by_generation_and_replaced_when_answered(store: Store) -> None:
    first, second = KeyRow("k", 0, "t", "i", False), KeyRow("k", 1, "t2", "i", False)
    begin = beginning("t", A)
    await store.voter.append(begin, keys=[first])
    await store.voter.append(beginning("t2", A), keys=[second])
    answered = KeyRow("k", 0, "t", "i", True)
    await store.voter.append(following(begin, A, events(1, Kind.ANSWERED, b"{}")), keys=[answered])
    assert await store.keys("k") == [answered, second]


async def test_the_inbox_is_emptied_by_the_append_that_takes_it_in(store: Store) -> None:
    begin = beginning("t", A)
    await store.voter.append(begin)
    await store.inbox_put("t", "input", b'{"id":1}')
    await store.inbox_put("t", "cancel", b"{}")
    assert await store.inbox_waiting() == ["t"]
    rows = await store.inbox_take("t")
    assert [(row.kind, row.body) for row in rows] == [("input", b'{"id":1}'), ("cancel", b"{}")]
    assert await store.inbox_take("t") == rows
    ids = [row.id for row in rows]
    stale = following(begin, Fence(0, "old"), events(1))
    assert isinstance(await store.voter.append(stale, inbox=ids), Refused)
    assert await store.inbox_take("t") == rows
    taken = await store.voter.append(following(begin, A, events(1, Kind.INPUT)), inbox=ids)
    assert isinstance(taken, Appended)
    assert await store.inbox_waiting() == []
    await store.inbox_put("t", "input", b"{}")
    assert (await store.inbox_take("t"))[0].id not in ids


async def test_bodies_that_were_changed_in_the_file_are_read_as_they_are(store: Store) -> None:
    await store.voter.append(beginning("t", A, events(1)))
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE entries SET body = x'ff00fe' WHERE seq = 3")
        connection.execute("UPDATE entries SET body = NULL WHERE seq = 2")
    connection.close()
    assert [entry.body for entry in await store.entries("t", 1)] == [None, b"\xff\x00\xfe"]
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE entries SET kind = 'unheard of' WHERE seq = 3")
    connection.close()
    with pytest.raises(StoreCorrupt):
        await store.entries("t")


async def test_a_piece_of_a_journal_is_cut_by_bytes_and_holds_one_entry_at_least(store: Store) -> None:
    begin = beginning("t", A)
    await store.voter.append(begin)
    bodies = [b'{"x":"' + b"y" * size + b'"}' for size in (500, 500, 5000, 500)]
    await store.voter.append(following(begin, A, [Draft(Kind.EVENT, body) for body in bodies]))
    pieces, after = [], 2
    while piece := await store.entries("t", after, 100, 1200):
        pieces.append([entry.seq for entry in piece])
        after = piece[-1].seq
    assert pieces == [[3, 4], [5], [6]]
    assert len(await store.entries("t", 2, 3, 1 << 20)) == 3


async def test_a_whole_journal_is_read_piece_by_piece(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 300)
    begin = beginning("t", A, events(20))
    await store.voter.append(begin)
    assert await store.entries("t") == list(begin.entries)
    assert await store.entries("t", 3, 7) == list(begin.entries)[3:10]


async def test_a_list_may_leave_large_bodies_out(store: Store) -> None:
    for task, size in (("small", 10), ("large", 1000)):
        begin = beginning(task, A)
        await store.voter.append(begin)
        done = view_of(task, state="completed", finished=b'"' + b"x" * size + b'"')
        await store.voter.append(following(begin, A, events(1, Kind.COMPLETED, b"{}")), done)
    views, _, _ = await store.list_tasks(ListQuery(), ME, 100)
    assert {view.task_id: view.finished is None for view in views} == {"small": False, "large": True}
    views, _, _ = await store.list_tasks(ListQuery(), ME)
    assert [view for view in views if view.finished is None] == []
