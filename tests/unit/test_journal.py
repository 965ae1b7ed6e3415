import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.canonical import canonical
from bridge.errors import BridgeError, BrokenChain
from bridge.handoff import Handoff
from bridge.journal import (
    NO_FENCE,
    TERMINAL,
    Draft,
    Entry,
    Fence,
    Kind,
    Tip,
    chain,
    check_link,
    entry_hash,
    from_line,
    genesis,
    tip_of,
    to_line,
    verify,
)
from tests.unit.journals import TASK, journal, walks

MANY = settings(deadline=None, max_examples=150)


@settings(deadline=None)
@given(walks())
def test_a_chain_verifies_and_survives_an_export(walk: Any) -> None:
    entries = walk[2]
    assert verify(TASK, entries) == tip_of(TASK, entries)
    assert [from_line(to_line(TASK, entry) + b"\n") for entry in entries] == [(TASK, entry) for entry in entries]
    for entry in entries:
        header = {
            "seq": entry.seq,
            "fence": {"n": entry.fence.n, "session": entry.fence.session},
            "kind": entry.kind.value,
            "at": entry.at,
            "body_hash": entry.body_hash,
            "prev": entry.prev,
        }
        assert sha256(canonical(header)).hexdigest() == entry.hash
        assert json.loads(to_line(TASK, entry))["seq"] == entry.seq


def test_hashes_are_fixed_for_ever() -> None:
    assert genesis("t") == Tip(NO_FENCE, 0, sha256(b"dhp-journal:t").hexdigest())
    assert entry_hash(1, Fence(1, "s"), "event", 5, "aa", "bb") == (
        sha256(
            b'{"at":5,"body_hash":"aa","fence":{"n":1,"session":"s"},"kind":"event","prev":"bb","seq":1}'
        ).hexdigest()
    )


def test_the_six_ends() -> None:
    assert [kind for kind in Kind if kind in TERMINAL] == list(Kind)[-6:]


def test_chaining_nothing_adds_nothing() -> None:
    assert chain(genesis(TASK), Fence(1, "s"), 1, []) == []
    assert tip_of(TASK, []) == genesis(TASK)


def test_a_chain_belongs_to_one_task() -> None:
    with pytest.raises(BrokenChain):
        verify("another", journal(Kind.DISPATCHED))


def change_byte(text: bytes, data: st.DataObject) -> bytes:
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != text[at]))
    return text[:at] + bytes([other]) + text[at + 1 :]


def changed(entry: Entry, field: str, data: st.DataObject) -> Entry:
    """The entry with one field changed to another value of its type."""
    if field == "fence.n":
        return entry._replace(
            fence=entry.fence._replace(n=data.draw(other_than(st.integers(0, 99), entry.fence.n)))
        )
    if field == "fence.session":
        session = data.draw(other_than(st.text("s0123456789", max_size=3), entry.fence.session))
        return entry._replace(fence=entry.fence._replace(session=session))
    if field == "kind":
        return entry._replace(kind=data.draw(other_than(st.sampled_from(list(Kind)), entry.kind)))
    value: Any = getattr(entry, field)
    other: Any
    if isinstance(value, int):
        other = data.draw(other_than(st.integers(0, 10_000), value))
    else:
        other = change_byte(value.encode() if isinstance(value, str) else value, data)
        other = other.decode("latin-1") if isinstance(value, str) else other
    fields: dict[str, Any] = {field: other}
    return entry._replace(**fields)


def other_than(strategy: st.SearchStrategy[Any], value: Any) -> st.SearchStrategy[Any]:
    return strategy.filter(lambda drawn: drawn != value)


@MANY
@given(
    walks(min_size=1),
    st.sampled_from(["seq", "fence.n", "fence.session", "kind", "at", "body_hash", "prev", "hash", "body"]),
    st.data(),
)
def test_any_changed_field_of_any_entry_is_found(walk: Any, field: str, data: st.DataObject) -> None:
    entries = list(walk[2])
    at = data.draw(st.integers(0, len(entries) - 1))
    entries[at] = changed(entries[at], field, data)
    with pytest.raises(BrokenChain) as caught:
        verify(TASK, entries)
    assert caught.value.seq in (entries[at].seq, at + 1, at + 2)


@MANY
@given(walks(min_size=2), st.data())
def test_a_missing_repeated_or_moved_entry_is_found(walk: Any, data: st.DataObject) -> None:
    entries = walk[2]
    at = data.draw(st.integers(0, len(entries) - 2))
    missing = entries[:at] + entries[at + 1 :]
    repeated = entries[: at + 1] + entries[at:]
    moved = [*entries[:at], entries[at + 1], entries[at], *entries[at + 2 :]]
    for wrong in (missing, repeated, moved):
        with pytest.raises(BrokenChain):
            verify(TASK, wrong)


def read_export(lines: list[bytes]) -> Handoff:
    """Read an export as ``verify --file`` does: one task, every link, every transition."""
    read = [from_line(line) for line in lines]
    for index, (task, _) in enumerate(read):
        if task != TASK:
            raise BrokenChain(index + 1, "another task's entry")
    return Handoff.fold(TASK, [entry for _, entry in read])


@settings(deadline=None, max_examples=150)
@given(walks(min_size=1), st.data())
def test_any_changed_byte_of_any_line_of_an_export_is_found(walk: Any, data: st.DataObject) -> None:
    entries = walk[2]
    lines = [to_line(TASK, entry) for entry in entries]
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = change_byte(lines[at], data)
    with pytest.raises(BridgeError):
        read_export(lines)


def test_a_renamed_body_is_no_dropped_body() -> None:
    entries = journal(Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND, Kind.STEP, Kind.STEP)
    lines = [to_line(TASK, entry) for entry in entries]
    lines[3] = lines[3].replace(b',"body":', b',"bodz":')
    with pytest.raises(BridgeError):
        read_export(lines)


@settings(deadline=None)
@given(walks(min_size=1), st.data())
def test_a_line_that_was_cut_off_is_found(walk: Any, data: st.DataObject) -> None:
    line = to_line(TASK, walk[2][-1])
    with pytest.raises(BrokenChain):
        verify(TASK, [*walk[2][:-1], from_line(line[: data.draw(st.integers(0, len(line) - 1))])[1]])


def test_a_dropped_body_is_absent_from_the_line_and_still_verifies() -> None:
    entries = journal(Kind.DISPATCHED, Kind.CLAIMED, Kind.BOUND, Kind.STEP, Kind.STEP)
    entries[3] = entries[3]._replace(body=None)
    line = to_line(TASK, entries[3])
    assert "body" not in json.loads(line)
    assert from_line(line) == (TASK, entries[3])
    assert verify(TASK, entries).seq == 5


def test_bodies_travel_as_the_bytes_that_were_hashed() -> None:
    entry = journal(Kind.DISPATCHED)[0]
    for body in (b'{ "body" : {} ,"body":1}', b'{"n":1e400,"n":123456789012345678901234567890}', b"{}"):
        assert from_line(to_line(TASK, entry._replace(body=body)))[1].body == body


GOOD = json.loads(to_line(TASK, journal(Kind.DISPATCHED)[0]))


@pytest.mark.parametrize(
    "changes",
    [
        {"seq": -1},
        {"seq": "1"},
        {"seq": True},
        {"at": 1.5},
        {"kind": "unheard_of"},
        {"fence": {"n": 1}},
        {"fence": None},
        {"hash": 'a","x":"'},
        {"task": 'a"b'},
        {"prev": None},
    ],
    ids=str,
)
def test_a_line_with_other_than_plain_fields_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BrokenChain) as caught:
        from_line(json.dumps(GOOD | changes, separators=(",", ":")).encode())
    assert caught.value.seq == 0


@pytest.mark.parametrize("line", [b"", b"[]", b"{}", b"null", b"\xff"])
def test_what_is_no_entry_is_refused(line: bytes) -> None:
    with pytest.raises(BrokenChain):
        from_line(line)


def test_an_older_fence_after_a_newer_one_is_found() -> None:
    tip = Tip(Fence(3, "s"), 1, "0" * 64)
    (entry,) = chain(tip, Fence(2, "s"), 1, [Draft(Kind.EVENT, b"{}")])
    with pytest.raises(BrokenChain):
        check_link(tip, entry)
