"""A connection that was proven and then carries a frame that is not the next one: it ends, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from sidecar.errors import PeerUnavailable
from sidecar.peers import frames
from sidecar.peers.channel import REFUSED, Channel
from sidecar.peers.handshake import dialled
from sidecar.peers.line import PATH
from sidecar.peers.sealing import Rejection, Sealer
from tests.hosts.peer_lines import BadLine
from tests.hosts.peer_side import TASK, End, append, entries, link, port, side, until

GOSSIP = b"\x91" + frames.ask(1, "gossip", b"hello")


class Raw:
    """A peer that has proven itself and then does what no peer does."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse, channel: Channel) -> None:
        self.ws, self.sealer = ws, channel._sealer

    async def said(self) -> str:
        """Why the other side closed the connection, past whatever it said before."""
        async with asyncio.timeout(20):
            while (message := await self.ws.receive()).type is aiohttp.WSMsgType.BINARY:
                pass
        assert message.type is aiohttp.WSMsgType.CLOSE
        assert message.data == REFUSED
        return str(message.extra).partition(":")[0]


@asynccontextmanager
async def raw(end: End) -> AsyncIterator[Raw]:
    async with aiohttp.ClientSession() as session, session.ws_connect(end.url + PATH) as ws:
        _, channel = await dialled(ws, side("north"))
        yield Raw(ws, channel)


def replayed(sealer: Sealer) -> list[bytes]:
    frame = sealer.seal(GOSSIP)
    return [frame, frame]


def altered(sealer: Sealer) -> list[bytes]:
    frame = sealer.seal(GOSSIP)
    return [frame[:-2] + bytes((frame[-2] ^ 1,)) + frame[-1:]]


BAD_FRAMES: dict[str, tuple[Rejection, Callable[[Sealer], list[bytes]], int]] = {
    "a frame twice": (Rejection.REPLAYED, replayed, 1),
    "the second frame first": (
        Rejection.REORDERED,
        lambda sealer: [sealer.seal(GOSSIP), sealer.seal(GOSSIP)][1:],
        0,
    ),
    "a changed byte": (Rejection.ALTERED, altered, 0),
    "a cut frame": (Rejection.ALTERED, lambda sealer: [sealer.seal(GOSSIP)[:-1]], 0),
    "a stub": (Rejection.TRUNCATED, lambda _: [b"\x00" * 39], 0),
    "nothing": (Rejection.TRUNCATED, lambda _: [b""], 0),
    "an unsealed frame": (Rejection.ALTERED, lambda _: [GOSSIP * 10], 0),
    "junk, well sealed": (Rejection.MALFORMED, lambda sealer: [sealer.seal(b"\xff" * 50)], 0),
    "an answer": (Rejection.MALFORMED, lambda sealer: [sealer.seal(b"\x91" + frames.answer(1, None))], 0),
    "an id twice": (
        Rejection.MALFORMED,
        lambda sealer: [sealer.seal(b"\x92" + 2 * frames.ask(1, "tail", [TASK, 0]))],
        1,
    ),
    "a message without end": (
        Rejection.TOO_LARGE,
        lambda sealer: [sealer.seal(b"\x91" + frames._encode((7, True, b"x" * (250 << 10)))) for _ in range(660)],
        0,
    ),
    "a frame above the limit": (Rejection.TOO_LARGE, lambda sealer: [sealer.seal(b"x" * (1 << 20))], 0),
}


@pytest.mark.parametrize("what", BAD_FRAMES)
async def test_a_frame_that_is_not_the_next_ends_the_connection(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    code, made, done = BAD_FRAMES[what]
    async with port() as end, link(end.url) as other:
        async with raw(end) as peer:
            for frame in made(peer.sealer):
                try:
                    await peer.ws.send_bytes(frame)
                except (aiohttp.ClientError, ConnectionError):
                    break  # it has been refused in the middle
            if code is not Rejection.TOO_LARGE:
                assert await peer.said() == code
            await until(lambda: end.refused(str(code)) == 1)
        assert len(end.handler.asked) == done
        assert await other.gossip(b"ab") == b"ba"
    assert not [each for each in caplog.records if each.exc_info]


async def test_a_byte_that_changes_on_the_way_is_never_acted_upon() -> None:
    async with port() as end, BadLine(end.url) as line, link(line.url) as to:
        some = entries(200, size=2000)
        line.flip_at = line.carried + 150_000
        answers = await asyncio.gather(*(to.append_soon(append([each])) for each in some), return_exceptions=True)
        assert line.flip_at is None
        assert any(isinstance(each, PeerUnavailable) for each in answers)
        assert end.refused("altered") + end.refused("malformed") == 1  # the head of a frame is WebSocket's
        assert [each.entries[0] for each in end.handler.appends] == some[: len(end.handler.appends)]
        await until(lambda: to.connected)
        assert line.made == 2
        assert await to.gossip(b"ab") == b"ba"
