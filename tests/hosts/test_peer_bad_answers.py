"""A proven peer that answers what it was not asked, what cannot be read, or not at all: none of it is believed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from sidecar.errors import PeerUnavailable
from sidecar.peers import frames
from sidecar.peers.channel import Broken, refuse, send
from sidecar.peers.frames import PIECES_AHEAD, Ask, Credit, Message, Stop
from sidecar.peers.handshake import accepted
from sidecar.peers.kinds import GOSSIP, TAIL
from sidecar.peers.link import PeerLink
from sidecar.peers.sealing import Rejected, Rejection
from tests.hosts.peer_side import TASK, entries, link, side, until

Answers = Callable[[Ask], list[bytes]]


@asynccontextmanager
async def answering(answers: Answers) -> AsyncIterator[tuple[PeerLink, list[Message], list[Rejected]]]:
    """A link to a port that answers as it is told; what it heard, and why connections ended."""
    heard: list[Message] = []
    ended: list[Rejected] = []

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        _, channel = await accepted(ws, side("south"), "127.0.0.1")

        def take(messages: list[Message]) -> None:
            heard.extend(messages)
            for message in messages:
                for data in answers(message) if isinstance(message, Ask) else ():
                    channel.send(data)

        try:
            await channel.run(take)
        except Rejected as why:
            ended.append(why)
        except Broken:
            pass
        return ws

    server = await asyncio.get_running_loop().create_server(web.Server(serve), "127.0.0.1", 0)
    async with link(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as to:
        yield to, heard, ended
    server.close()


NO_ANSWERS: dict[str, Answers] = {
    "an ask": lambda ask: [frames.ask(ask.id, "gossip", b"")],
    "a credit": lambda ask: [frames.credit(ask.id)],
    "a message of no kind": lambda _: [b"\x92\x63\x01"],
}


@pytest.mark.parametrize("what", NO_ANSWERS)
async def test_what_no_answering_side_says_ends_the_connection(what: str) -> None:
    async with answering(NO_ANSWERS[what]) as (to, _, ended):
        with pytest.raises(PeerUnavailable, match="lost"):
            await to.gossip(b"x")
        await until(lambda: len(ended) == 1)
        assert (ended[0].code, ended[0].told) == (Rejection.MALFORMED, True)
        assert to._observer.value("dhp_sidecar_peers_refused_total", side="dialling", code="malformed") == 1  # type: ignore[attr-defined]


async def test_answers_to_what_was_not_asked_are_nothing() -> None:
    stray = [frames.answer(77, b"x"), frames.failed(78, "busy", ""), frames.pushed(79, [])]
    async with answering(lambda ask: [*stray, frames.answer(ask.id, b"yes"), frames.answer(ask.id, b"no")]) as (
        to,
        _,
        _,
    ):
        assert await to.gossip(b"x") == b"yes"
        assert await to.gossip(b"x") == b"yes"


async def test_an_answer_that_comes_too_late_is_nothing() -> None:
    late: list[bytes] = []

    def answers(ask: Ask) -> list[bytes]:
        late.append(frames.answer(ask.id, b"late"))
        return late[:1] if len(late) > 1 else []

    async with answering(answers) as (to, _, _):
        with pytest.raises(PeerUnavailable, match=r"does not answer gossip within 0\.2 s"):
            await to.gossip(b"one", timeout_s=0.2)
        with pytest.raises(PeerUnavailable, match="does not answer"):
            await to.gossip(b"two", timeout_s=0.2)  # the answer to the first is not taken for one to the second
        assert to.connected


async def test_who_does_not_wait_any_more_is_not_answered() -> None:
    asked: list[Ask] = []

    def answers(ask: Ask) -> list[bytes]:
        asked.append(ask)
        return [frames.answer(each.id, b"yes") for each in asked] if len(asked) == 2 else []

    async with answering(answers) as (to, _, _):
        given_up = to.ask(GOSSIP, b"x")
        given_up.cancel()
        assert await to.gossip(b"y") == b"yes"


async def test_a_failure_says_why() -> None:
    async with answering(lambda ask: [frames.failed(ask.id, "store_full", "x" * 9000)]) as (to, _, _):
        with pytest.raises(PeerUnavailable, match=r"store_full: x{1000}$"):
            await to.gossip(b"x")


async def test_a_piece_that_cannot_be_read_ends_its_subscription_alone() -> None:
    def answers(ask: Ask) -> list[bytes]:
        return [frames.pushed(ask.id, ["no entry"])] if ask.kind == TAIL.name else [frames.answer(ask.id, b"yes")]

    async with answering(answers) as (to, heard, _):
        with pytest.raises(PeerUnavailable, match="malformed"):
            await anext(to.tail(TASK, 0))
        assert await to.gossip(b"x") == b"yes"
        assert [type(each) for each in heard] == [Ask, Stop, Ask]
        assert to._observer.value("dhp_sidecar_peers_malformed_total", code="malformed") == 1  # type: ignore[attr-defined]


async def test_more_pieces_than_were_asked_for_end_the_connection() -> None:
    piece = TAIL.answered.pack(entries(1))
    async with answering(lambda ask: [frames.pushed(ask.id, piece)] * (PIECES_AHEAD + 1)) as (to, _, ended):
        tail = to.tail(TASK, 0)
        with pytest.raises(PeerUnavailable, match="lost"):
            _ = [piece async for piece in tail]
        await until(lambda: len(ended) == 1)


async def test_each_piece_that_is_taken_allows_another() -> None:
    piece = TAIL.answered.pack(entries(1))
    async with answering(lambda ask: [frames.pushed(ask.id, piece)] * PIECES_AHEAD) as (to, heard, _):
        tail = to.tail(TASK, 0)
        for _ in range(PIECES_AHEAD):
            assert await anext(tail) == entries(1)
        await until(lambda: sum(isinstance(each, Credit) for each in heard) == PIECES_AHEAD)
        await tail.aclose()  # type: ignore[attr-defined]
        await until(lambda: isinstance(heard[-1], Stop))


async def test_a_refusal_that_a_later_version_knows_is_told_as_another() -> None:
    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        await ws.close(code=4000, message=b"on_holiday: until monday")
        return ws

    server = await asyncio.get_running_loop().create_server(web.Server(serve), "127.0.0.1", 0)
    async with link(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", up=False) as to:
        await until(lambda: "other: until monday" in to.problem)
    server.close()


@pytest.mark.parametrize(
    ("status", "told"), [(503, "crowded"), (404, "status 404"), (302, "status 302"), (200, "status 200")]
)
async def test_a_server_that_is_no_peer_port(status: int, told: str) -> None:
    async def serve(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=status)

    server = await asyncio.get_running_loop().create_server(web.Server(serve), "127.0.0.1", 0)
    async with link(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", up=False) as to:
        await until(lambda: told in to.problem)
    server.close()


async def test_a_url_that_is_none_is_a_problem_and_no_end() -> None:
    async with link("nonsense", up=False) as to:
        await until(lambda: "cannot be reached" in to.problem)


async def test_what_is_sent_over_a_connection_that_is_gone_is_no_fault_of_the_program() -> None:
    ended = asyncio.get_running_loop().create_future()

    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        await ws.close()
        await refuse(ws, Rejected(Rejection.LATE))
        try:
            await send(ws, b"x")
        except Broken as why:
            ended.set_result(why)
        return ws

    server = await asyncio.get_running_loop().create_server(web.Server(serve), "127.0.0.1", 0)
    async with aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with session.ws_connect(url) as ws:
            assert (await ws.receive()).type is aiohttp.WSMsgType.CLOSE
    assert isinstance(await asyncio.wait_for(ended, 5), Broken)
    server.close()
