"""Single requests: SendMessage and GetTask, one at a time and sixteen at once, and the generator's own ceiling."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import uuid
from collections.abc import Callable

import orjson

from benchmarks.figures import DIRECT, NGINX, SIDECAR, Figures
from benchmarks.load import Load, closed_loop, rpc_body, send_body
from benchmarks.scale import Scale
from benchmarks.stand import Stand, cpu_s, sidecar_of

CONNECTIONS = (1, 16)
STREAMED = "direct, streamed"
WRK = shutil.which("wrk")
TITLES = {
    "send": "SendMessage to the SDK agent",
    "send.canned": "SendMessage to the canned agent",
    "get": "GetTask of a finished task",
}
BodyOf = Callable[[int], bytes]


# Random UUIDs without asking the kernel for each: their last 48 bits count up, over all loops of the run.
_MESSAGE = send_body("SendMessage", "hello", str(uuid.uuid4())[:-12] + "%012x")
_COUNT = itertools.count()


def fresh_message(_: int) -> bytes:
    return _MESSAGE % next(_COUNT)


def fresh_streamed(_: int) -> bytes:
    return fresh_message(0).replace(b'"SendMessage"', b'"SendStreamingMessage"')


async def ceiling(stand: Stand, scale: Scale, figures: Figures) -> None:
    """What the load generator can ask for at most: of the canned agent, directly; and wrk, where there is one."""
    figures.open("ceiling", "The load generator against the canned agent, c=16", "requests/s")
    agent = stand.canned()
    await stand.ready()
    url = agent.url + agent.rpc_path
    for _ in range(scale.rounds):
        load = await closed_loop(url, fresh_message, connections=16, seconds=scale.seconds, warm_s=scale.warm_s)
        figures.add("ceiling", "this generator", load.rate)
        if WRK is not None:
            figures.add("ceiling", "wrk", _wrk(stand, url, fresh_message(0), scale.seconds))


async def send_message(stand: Stand, scale: Scale, figures: Figures) -> None:
    """SendMessage to the SDK agent (which is the bottleneck) and to the canned agent (the sidecar is)."""
    for group, agent in {"send": stand.sdk("echo"), "send.canned": stand.canned()}.items():
        ways = stand.ways(agent)
        await stand.ready()
        asked: dict[str, tuple[str, BodyOf]] = {way: (url, fresh_message) for way, url in ways.items()}
        # The sidecar asks its agent for a stream, whatever its client asked for: what the agent takes for that.
        asked[STREAMED] = (ways[DIRECT], fresh_streamed)
        await _rounds(stand, figures, scale, group, asked)


async def get_task(stand: Stand, scale: Scale, figures: Figures) -> None:
    """GetTask of a finished task of the SDK agent: at the agent, and at the sidecar, which answers by itself."""
    ways = stand.ways(stand.sdk("long"))
    await stand.ready()
    targets = {DIRECT: (ways[DIRECT], await _finished(stand, ways[DIRECT]))}
    if NGINX in ways:
        targets[NGINX] = (ways[NGINX], targets[DIRECT][1])
    targets[SIDECAR] = (ways[SIDECAR], await _finished(stand, ways[SIDECAR]))
    asked: dict[str, tuple[str, BodyOf]] = {way: (url, _asking(task)) for way, (url, task) in targets.items()}
    await _rounds(stand, figures, scale, "get", asked)


async def _rounds(
    stand: Stand, figures: Figures, scale: Scale, group: str, asked: dict[str, tuple[str, BodyOf]]
) -> None:
    title, sidecar = TITLES[group], sidecar_of(stand)
    for connections in CONNECTIONS:
        name, text = f"{group}.c{connections}", f"{title}, c={connections}"
        figures.open(f"{name}.rate", text, "requests/s")
        figures.open(f"{name}.p50", f"{text}: p50", "ms", more_is_better=False)
        figures.open(f"{name}.p99", f"{text}: p99", "ms", more_is_better=False)
        figures.open(f"{name}.cpu", f"{text}: CPU time of the sidecar", "µs/request", more_is_better=False)
        for _ in range(scale.rounds):
            for way, (url, body_of) in asked.items():
                spent = cpu_s(sidecar)
                load = await closed_loop(
                    url, body_of, connections=connections, seconds=scale.seconds, warm_s=scale.warm_s
                )
                _check(load, url)
                if way == SIDECAR:
                    figures.add(f"{name}.cpu", way, (cpu_s(sidecar) - spent) / load.asked * 1e6)
                figures.add(f"{name}.rate", way, load.rate)
                figures.add(f"{name}.p50", way, load.percentile_ms(50))
                figures.add(f"{name}.p99", way, load.percentile_ms(99))


def _check(load: Load, url: str) -> None:
    if load.refused:
        raise SystemExit(f"{url}: {load.refused} answers were no results: {load.first_refusal[:300]!r}")


async def _finished(stand: Stand, url: str) -> str:
    body = send_body("SendMessage", "steps=3 pace=0 chunk=64", str(uuid.uuid4()))
    answer = await stand.web.post(url, content=body, headers=_headers())
    return str(answer.json()["result"]["task"]["id"])


def _asking(task: str) -> BodyOf:
    body = rpc_body("GetTask", {"id": task})
    return lambda _: body


def _headers() -> dict[str, str]:
    return {"A2A-Version": "1.0", "Content-Type": "application/json"}


def _wrk(stand: Stand, url: str, body: bytes, seconds: float) -> float:
    script = stand.directory / "send.lua"
    headers = "".join(
        f"wrk.headers[{orjson.dumps(key).decode()}]={value!r}\n" for key, value in _headers().items()
    )
    script.write_text(f"wrk.method='POST'\n{headers}wrk.body={body.decode()!r}\n")
    command = ["wrk", "-t1", "-c16", f"-d{max(1, round(seconds))}s", "-s", str(script), url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(next(line for line in said.splitlines() if "Requests/sec" in line).split()[1])
