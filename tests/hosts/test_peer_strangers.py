"""Whoever is no peer, or is one no more, is refused: told why, counted, logged once, and nothing is done."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from msgspec.msgpack import encode

from bridge.quorum import Claim
from sidecar.errors import PeerUnavailable
from sidecar.ops.metrics import Metrics
from sidecar.peers import frames, handshake, kinds
from sidecar.peers import port as port_module
from sidecar.peers.channel import REFUSED
from sidecar.peers.handshake import Side, dialled, is_loopback
from sidecar.peers.line import PATH, pause
from sidecar.peers.link import PeerLink
from sidecar.peers.sealing import Hello, Rejected, Rejection, Sealer, hello_bytes
from tests.hosts.peer_side import (
    FENCE,
    SECRET,
    TASK,
    identity,
    link,
    port,
    side,
    until,
)

NORTH = identity("north")
GOSSIP = b"\x91" + frames.ask(1, "gossip", b"hello")


def log_lines(caplog: pytest.LogCaptureFixture, module: str) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == module]


UNWANTED: dict[str, tuple[Side, Side]] = {
    "secret": (Side(NORTH, b"another secret"), side("south")),
    "version": (Side(NORTH, SECRET, (2, 3)), side("south")),
    "cluster": (
        Side(replace(NORTH, cluster="c1"), SECRET),
        Side(replace(identity("south"), cluster="c2"), SECRET),
    ),
}


@pytest.mark.parametrize("code", UNWANTED)
async def test_who_does_not_belong_here_is_refused_on_both_sides(
    code: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.peers.line.DIAL_AGAIN_S", (0.01, 0.01))
    caplog.set_level(logging.INFO)
    theirs, ours = UNWANTED[code]
    metrics = Metrics(strict=True)
    async with port("south", ours) as end:
        to = PeerLink(end.url, lambda: theirs, metrics)
        dialling = asyncio.create_task(to.run_forever())

        def refused() -> float:
            dialled_side = metrics.value("dhp_sidecar_peers_refused_total", side="dialling", code=code)
            return min(dialled_side, end.refused(code))

        await until(lambda: refused() >= 4)  # it is dialled for ever
        with pytest.raises(PeerUnavailable, match=code):
            await to.gossip(b"")
        assert not to.itself
        dialling.cancel()
        assert end.handler.asked == []
        for module in ("sidecar.peers.line", "sidecar.peers.port"):
            (line,) = log_lines(caplog, module)
            assert code in line
        assert not [each for each in caplog.records if each.exc_info]


async def test_an_address_of_the_sidecar_itself_is_no_refusal(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sidecar.peers.line.DIAL_AGAIN_S", (0.01, 0.01))
    monkeypatch.setattr("sidecar.peers.line.ITSELF_AGAIN_S", 0.2)
    caplog.set_level(logging.INFO)
    metrics = Metrics(strict=True)
    async with port("south") as end:
        dials: list[float] = []
        mine = side("south")

        def asked() -> Side:
            dials.append(asyncio.get_running_loop().time())
            return mine

        to = PeerLink(end.url, asked, metrics)
        dialling = asyncio.create_task(to.run_forever())
        await until(lambda: to.itself and len(dials) >= 3)  # the address may be another sidecar's later
        assert dials[2] - dials[1] > 0.15
        dialling.cancel()
        with pytest.raises(PeerUnavailable, match="itself"):
            await to.gossip(b"")
        assert end.refused("itself") == 0
        assert metrics.value("dhp_sidecar_peers_refused_total", side="dialling", code="itself") == 0
        assert log_lines(caplog, "sidecar.peers.line") == [f"{end.url} in --peers is this sidecar itself"]
        assert log_lines(caplog, "sidecar.peers.port") == []


async def test_a_side_without_the_secret_is_refused_by_one_that_has_it() -> None:
    metrics = Metrics(strict=True)
    async with port() as end:
        to = PeerLink(end.url, lambda: Side(NORTH, b""), metrics)
        dialling = asyncio.create_task(to.run_forever())
        await until(lambda: end.refused("secret") >= 1)
        dialling.cancel()
        assert end.handler.asked == []


@pytest.mark.parametrize(
    ("address", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("fe80::1%lo", False),
     ("10.0.0.1", False), ("::", False), ("0.0.0.0", False), ("localhost.example", False), ("", False)],
)  # fmt: skip
def test_which_addresses_are_of_this_host_alone(address: str, loopback: bool) -> None:
    assert is_loopback(address) is loopback


async def test_without_a_secret_no_other_host_is_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_module, "host_of", lambda _: "192.0.2.7")
    async with port("south", Side(identity("south"), b"")) as end:
        to = PeerLink(end.url, lambda: Side(NORTH, b""), Metrics(strict=True))
        dialling = asyncio.create_task(to.run_forever())
        await until(lambda: end.refused("loopback_only") >= 1)
        await until(lambda: "no cluster secret is set" in to.problem)
        dialling.cancel()


async def test_without_a_secret_no_other_host_is_talked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "host_of", lambda _: "192.0.2.7")
    async with port("south", Side(identity("south"), b"")) as end:
        to = PeerLink(end.url, lambda: Side(NORTH, b""), Metrics(strict=True))
        dialling = asyncio.create_task(to.run_forever())
        await until(lambda: "no cluster secret is set" in to.problem)
        dialling.cancel()


JUNK: list[tuple[str, Any]] = [
    ("text", lambda ws: ws.send_str("hello")),
    ("binary", lambda ws: ws.send_bytes(b"\x00" * 100)),
    ("empty", lambda ws: ws.send_bytes(b"")),
    ("proof_first", lambda ws: ws.send_bytes(b"\x81\xa5proof\xc4\x20" + b"\0" * 32)),
    ("sealed", lambda ws: ws.send_bytes(Sealer(SECRET).seal(GOSSIP))),
    ("long", lambda ws: ws.send_bytes(b"x" * 200_000)),
]


@pytest.mark.parametrize(("name", "says"), JUNK, ids=[name for name, _ in JUNK])
async def test_a_stranger_is_told_no_more_than_a_code(name: str, says: Any) -> None:
    async with port() as end, aiohttp.ClientSession() as session, session.ws_connect(end.url + PATH) as ws:
        await says(ws)
        message = await ws.receive(timeout=20)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, REFUSED)
        assert str(message.extra).startswith("malformed")
        assert end.refused("malformed") == 1
        assert end.handler.asked == []


async def test_a_recorded_handshake_is_of_no_use_again() -> None:
    said: list[bytes] = []
    async with port() as end, aiohttp.ClientSession() as session:
        async with session.ws_connect(end.url + PATH) as ws:
            send = ws.send_bytes

            async def recording(data: bytes) -> None:
                said.append(data)
                await send(data)

            ws.send_bytes = recording  # type: ignore[method-assign,assignment]
            _, channel = await dialled(ws, side("north"))
            await recording(channel._sealer.seal(GOSSIP))
            await until(lambda: len(end.handler.asked) == 1)
        async with session.ws_connect(end.url + PATH) as ws:
            await ws.send_bytes(said[0])
            await ws.receive_bytes()
            for data in said[1:]:
                await ws.send_bytes(data)
            message = await ws.receive(timeout=20)
            assert str(message.extra) == "secret"
        assert len(end.handler.asked) == 1
        assert end.refused("secret") == 1


async def test_a_port_without_the_secret_is_not_told_one() -> None:
    """Who pretends to be a peer's port gets a hello, and no proof to try secrets on."""
    got: list[bytes] = []

    async def pretends(request: aiohttp.web.BaseRequest) -> aiohttp.web.StreamResponse:
        ws = aiohttp.web.WebSocketResponse()
        await ws.prepare(request)
        got.append(await ws.receive_bytes())
        hello = hello_bytes(Hello.of(identity("south"), secrets.token_bytes(32)))
        await ws.send_bytes(encode({"hello": hello, "proof": b"\0" * 32}))
        got.extend([message.data async for message in ws])
        return ws

    server = await asyncio.get_running_loop().create_server(aiohttp.web.Server(pretends), "127.0.0.1", 0)
    async with link(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", up=False) as to:
        await until(lambda: "secret" in to.problem)
        assert len(got) == 1
    server.close()


async def test_what_is_no_websocket_of_a_peer_is_answered_by_http() -> None:
    async with port() as end, aiohttp.ClientSession() as session:
        assert (await session.get(end.url + "/")).status == 404
        assert (await session.get(end.url + PATH)).status == 400
        with pytest.raises(aiohttp.WSServerHandshakeError) as page:
            await session.ws_connect(end.url + PATH, origin="http://127.0.0.1:8080")
        assert page.value.status == 403  # a page in somebody's browser


async def test_strangers_and_silence_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_module, "STRANGERS_MAX", 3)
    monkeypatch.setattr(port_module, "WITHIN_S", 0.5)
    monkeypatch.setattr(handshake, "WITHIN_S", 0.5)
    async with port() as end, link(end.url) as to, aiohttp.ClientSession() as session:
        silent = [await session.ws_connect(end.url + PATH) for _ in range(3)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as one_more:
            await session.ws_connect(end.url + PATH)
        assert one_more.value.status == 503
        reader, writer = await asyncio.open_connection("127.0.0.1", end.listener.getsockname()[1])
        writer.write(b"GET /dhp/peer HTTP/1.1\r\n")
        assert await asyncio.wait_for(reader.read(), 20) == b""  # a head that never ends
        writer.close()
        for ws in silent:
            message = await ws.receive(timeout=20)
            assert str(message.extra) == "late"
        assert await to.gossip(b"ab") == b"ba"
        assert end.refused("crowded") == 1
        assert end.refused("late") == 3


async def test_more_connections_than_there_is_room_for_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_module, "STRANGERS_MAX", 2)
    monkeypatch.setattr(port_module, "CONNECTIONS_MAX", 2)
    async with port() as end:
        held = [await asyncio.open_connection("127.0.0.1", end.listener.getsockname()[1]) for _ in range(4)]
        reader, writer = await asyncio.open_connection("127.0.0.1", end.listener.getsockname()[1])
        assert await asyncio.wait_for(reader.read(), 20) == b""
        assert end.refused("crowded") == 1
        for each in (writer, *(writer for _, writer in held)):
            each.close()


async def test_a_peer_of_an_older_life_is_told_apart() -> None:
    async with port() as end:
        for life in (1, 2):
            async with link(end.url, Side(identity("north", life=life), SECRET)) as to:
                await to.claim(Claim(TASK, FENCE, "s"))
        assert [peer.identity.incarnation for peer in end.handler.peers] == [1, 2]
        assert len({peer.identity.session for peer in end.handler.peers}) == 2


def test_dials_are_spread_and_bounded() -> None:
    first = [pause(0) for _ in range(200)]
    later = [pause(failures) for failures in range(6, 200)]
    assert 0.025 <= min(first) < max(first) <= 0.05
    assert 1.0 <= min(later) < max(later) <= 2.0


def test_every_ask_has_its_way_to_the_handler() -> None:
    from sidecar.peers.serving import CALLS

    table = {each.name for each in vars(kinds).values() if isinstance(each, kinds.Kind)}
    assert table == {*CALLS, "append", "tail"}


async def test_what_refuses_is_told_in_an_exception_with_its_code() -> None:
    async with port() as end, aiohttp.ClientSession() as session, session.ws_connect(end.url + PATH) as ws:
        with pytest.raises(Rejected, match="secret") as refused:
            await dialled(ws, Side(NORTH, b"another"))
        assert (refused.value.code, refused.value.told) == (Rejection.SECRET, False)
