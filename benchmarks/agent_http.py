"""Which HTTP client should drive the agent? Measures the candidates against the canned agent.

usage: python -m benchmarks.agent_http [--events 20000] [--requests 3000] [--rounds 3]

Prints, for each candidate: events/s of one stream, parsed to dicts, and the median and 99th percentile of one
small JSON-RPC POST on a kept-alive connection; then the same for the product's own layer, which checks every
event. A bare asyncio protocol (no HTTP library) is the floor for the latter.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import aiohttp
import httpx
import httpx_aiohttp
import orjson
import uvloop

from sidecar.agent import HttpAgentLink
from sidecar.ports import EndKind

HEADERS = {
    "A2A-Version": "1.0",
    "Accept": "text/event-stream, application/json",
    "Content-Type": "application/json",
}


def body(method: str, steps: int = 0) -> bytes:
    parts = [{"text": f"steps={steps}"}]
    message = {"role": "ROLE_USER", "messageId": "m", "parts": parts}
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": message}})


class Counter:
    """The cheapest correct reading of LF or CRLF framed events, the same for every candidate."""

    def __init__(self) -> None:
        self.carry = b""
        self.events = 0

    def feed(self, chunk: bytes) -> None:
        *lines, self.carry = (self.carry + chunk).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                orjson.loads(line[5:])
                self.events += 1


async def httpx_stream(client: httpx.AsyncClient, url: str, data: bytes) -> int:
    counter = Counter()
    async with client.stream("POST", url, content=data, headers=HEADERS) as response:
        async for chunk in response.aiter_raw():
            counter.feed(chunk)
    return counter.events


async def aiohttp_stream(session: aiohttp.ClientSession, url: str, data: bytes) -> int:
    counter = Counter()
    async with session.post(url, data=data, headers=HEADERS) as response:
        while chunk := await response.content.readany():
            counter.feed(chunk)
    return counter.events


async def linked_stream(link: HttpAgentLink, steps: int) -> int:
    message = {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": f"steps={steps}"}]}
    run = await link.start({"message": message}, {})
    events = sum([len(batch) async for batch in run.batches()])
    if run.end is None or run.end.kind is not EndKind.CLEAN:
        raise SystemExit(f"the stream ended with {run.end}")
    return events


async def latency(post: Callable[[], Awaitable[object]], requests: int) -> tuple[float, float]:
    times = []
    for _ in range(requests):
        begun = time.perf_counter()
        await post()
        times.append(time.perf_counter() - begun)
    times.sort()
    return statistics.median(times) * 1e3, times[int(len(times) * 0.99)] * 1e3


async def bare(port: int, requests: int) -> tuple[float, float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = body("SendMessage")
    head = b"POST /rpc HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(data)

    async def post() -> None:
        writer.write(head + data)
        await reader.read(65536)

    result = await latency(post, requests)
    writer.close()
    return result


async def measure(port: int, args: argparse.Namespace) -> None:
    url = f"http://127.0.0.1:{port}/rpc"
    stream, small = body("SendStreamingMessage", args.events), body("SendMessage")
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=2)
    async with (
        aiohttp.ClientSession(timeout=timeout, read_bufsize=2**18, auto_decompress=False) as session,
        httpx.AsyncClient(timeout=None) as plain,
        httpx.AsyncClient(timeout=None, transport=httpx_aiohttp.AiohttpTransport()) as over,
    ):

        async def send_aiohttp() -> None:
            async with session.post(url, data=small, headers=HEADERS) as response:
                await response.read()

        candidates: dict[str, tuple[Callable[[], Awaitable[int]], Callable[[], Awaitable[object]]]] = {
            "httpx (httpcore)": (
                lambda: httpx_stream(plain, url, stream),
                lambda: plain.post(url, content=small, headers=HEADERS),
            ),
            "httpx over aiohttp": (
                lambda: httpx_stream(over, url, stream),
                lambda: over.post(url, content=small, headers=HEADERS),
            ),
            "aiohttp": (lambda: aiohttp_stream(session, url, stream), send_aiohttp),
        }
        for name, (streamed, post) in candidates.items():
            rates = []
            for _ in range(args.rounds):
                begun = time.perf_counter()
                events = await streamed()
                rates.append(events / (time.perf_counter() - begun))
            p50, p99 = await latency(post, args.requests)
            print(f"{name:20} {statistics.median(rates):9,.0f} events/s   POST p50 {p50:.3f} ms  p99 {p99:.3f} ms")
    link = HttpAgentLink(f"http://127.0.0.1:{port}")
    await link.refresh()
    rates = []
    for _ in range(args.rounds):
        begun = time.perf_counter()
        events = await linked_stream(link, args.events)
        rates.append(events / (time.perf_counter() - begun))
    p50, p99 = await latency(lambda: link.get("t"), args.requests)
    await link.close()
    rate = statistics.median(rates)
    print(f"{'HttpAgentLink':20} {rate:9,.0f} events/s   POST p50 {p50:.3f} ms  p99 {p99:.3f} ms")
    p50, p99 = await bare(port, args.requests)
    print(f"{'no HTTP library':20} {'':18}   POST p50 {p50:.3f} ms  p99 {p99:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--requests", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--uvloop", action="store_true")
    args = parser.parse_args()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    agent = subprocess.Popen([sys.executable, "-m", "benchmarks.canned_agent", "--port", str(port)])
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        if args.uvloop:
            uvloop.run(measure(port, args))
        else:
            asyncio.run(measure(port, args))
    finally:
        agent.kill()
        agent.wait()


if __name__ == "__main__":
    main()
