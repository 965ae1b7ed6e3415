"""What a candidate reads at a voter: exactly the journal that was granted, in chunks."""

from __future__ import annotations

from bridge.catchup import DEFAULT_BOUNDS
from bridge.journal import Draft, Entry, Fence, Kind, genesis, tip_of, verify
from bridge.quorum import Appended
from sidecar.store import LocalVoter
from tests.contract.journals import events
from tests.contract.peering import begun, grown, journal, part

A, B = Fence(1, "aa"), Fence(2, "bb")


async def test_a_prefix_is_read_up_to_exactly_the_tip_that_was_granted_committed_or_not(
    local_voter: LocalVoter,
) -> None:
    log = journal(4)
    await begun(local_voter, log, 2)
    tip = tip_of("t", log)
    assert await local_voter.read_prefix("t", tip, 0) == tuple(log)
    assert await local_voter.read_prefix("t", tip, 4) == tuple(log[4:])
    assert await local_voter.read_prefix("t", tip, 6) == ()
    assert await local_voter.read_prefix("t", tip_of("t", log[:3]), 1) == tuple(log[1:3])
    assert await local_voter.read_prefix("t", tip._replace(hash="0" * 64), 0) is None
    assert await local_voter.read_prefix("t", tip._replace(seq=9), 0) is None
    assert await local_voter.read_prefix("unknown", tip, 0) is None
    assert await local_voter.read_prefix("unknown", genesis("unknown"), 0) == ()


async def test_a_prefix_that_was_cut_between_two_chunks_is_gone(local_voter: LocalVoter) -> None:
    log = journal(4)
    await begun(local_voter, log, 2)
    assert await local_voter.read_prefix("t", tip_of("t", log), 0) is not None
    other = grown("t", log[:3], B, [Draft(Kind.CLAIMED, b'{"owner":"b"}')])
    assert isinstance(await local_voter.append_soon(part("t", other, 3, B, 0)), Appended)
    assert await local_voter.read_prefix("t", tip_of("t", log), 3) is None
    assert await local_voter.read_prefix("t", tip_of("t", other), 3) == tuple(other[3:])


async def test_a_long_prefix_comes_in_chunks_that_are_bounded_and_link_up(local_voter: LocalVoter) -> None:
    log = grown("t", journal(700), A, events(3, body=b'{"x":"' + b"y" * DEFAULT_BOUNDS.bytes_max + b'"}'))
    await begun(local_voter, log, 0)
    chunks: list[tuple[Entry, ...]] = []
    read: list[Entry] = []
    while chunk := await local_voter.read_prefix("t", tip_of("t", log), len(read)):
        chunks.append(chunk)
        read += chunk
    assert read == log
    assert verify("t", read) == tip_of("t", log)
    assert max(len(chunk) for chunk in chunks) <= DEFAULT_BOUNDS.entries_max
    assert [len(chunk) for chunk in chunks[-2:]] == [1, 1]


async def test_the_record_of_a_replacement_travels_with_the_replacement(local_voter: LocalVoter) -> None:
    count = DEFAULT_BOUNDS.entries_max - 3
    log = grown("t", journal(count), A, [*events(2, Kind.REWOUND, b"{}"), *events(2)])
    await begun(local_voter, log, 0)
    chunk = await local_voter.read_prefix("t", tip_of("t", log), 0)
    assert chunk is not None
    assert (len(chunk), chunk[-1].kind) == (count + 5, Kind.EVENT)
    cut_off = tip_of("t", log[: count + 3])
    assert await local_voter.read_prefix("t", cut_off, 1) == tuple(
        log[1 : count + 3]
    )  # there is nothing behind it
