"""The agent's side with the real SDK, server and client over HTTP, and no sidecar: an agent that can resume.

The sidecar is played by the test: it reads a checkpoint from the stream of a first run and puts it into the
message of a second run in another process.
"""

from __future__ import annotations

import asyncio
import csv
import io
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from a2a.client import A2AClientError, Client, create_client
from a2a.types import Message, Part, Role, SendMessageRequest, StreamResponse, TaskState
from google.protobuf import json_format

from bridge.a2a.extension import CHECKPOINT, CONTINUES, EFFECT, RUN, URI
from examples.pages import MODULES
from examples.slow_writer import PARAGRAPHS
from sidecar.worker.ledger import from_wire
from tests.integration.agents import free_port

READY_S = 20.0
STORY = "".join(" ".join(p.split()) + "\n" for p in PARAGRAPHS)


class Example:
    """One example in a process of its own."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        module = name if "." in name else f"examples.{name}"
        command = [sys.executable, "-m", module, "--port", self.url.rsplit(":", 1)[1], *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    async def ready(self, path: str = "/.well-known/agent-card.json") -> None:
        async with httpx.AsyncClient() as web:
            for _ in range(int(READY_S / 0.05)):
                assert self.process.poll() is None, "the example ended"
                try:
                    if (await web.get(self.url + path)).status_code == 200:
                        return
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        raise TimeoutError(self.url)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def examples() -> Iterator[dict[str, Example]]:
    started = {
        "pages": Example("pages"),
        "echo": Example("echo"),
        "slow_writer": Example("slow_writer", "--pace", "0"),
        "census": Example("census", "--pace", "0"),
        "census_too": Example("census", "--pace", "0"),
    }
    yield started
    for example in started.values():
        example.stop()


@asynccontextmanager
async def connected(example: Example) -> AsyncIterator[Client]:
    await example.ready()
    client = await create_client(example.url)
    try:
        yield client
    finally:
        await client.close()


async def answers(
    client: Client, text: str, run: dict[str, Any] | None = None, got: list[StreamResponse] | None = None
) -> list[StreamResponse]:
    got = [] if got is None else got
    message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text)])
    if run is not None:
        message.metadata.update({RUN: run})
    async for event in client.send_message(SendMessageRequest(message=message)):
        got.append(event)
    return got


def artifact_text(events: list[StreamResponse], name: str) -> str:
    text = ""
    for event in events:
        update = event.artifact_update
        if event.WhichOneof("payload") == "artifact_update" and update.artifact.name == name:
            chunk = "".join(part.text for part in update.artifact.parts)
            text = text + chunk if update.append else chunk
    return text


def metadata(event: StreamResponse) -> dict[str, Any]:
    kind = event.WhichOneof("payload")
    carried = event.artifact_update if kind == "artifact_update" else event.status_update
    read: dict[str, Any] = from_wire(json_format.MessageToDict(carried.metadata))
    return read


async def page_urls(examples: dict[str, Example]) -> list[str]:
    await examples["pages"].ready("/urls")
    async with httpx.AsyncClient() as web:
        return (await web.get(examples["pages"].url + "/urls")).text.split()


async def test_echo_answers_with_a_message(examples: dict[str, Example]) -> None:
    async with connected(examples["echo"]) as client:
        (event,) = await answers(client, "hello")
    assert event.message.parts[0].text == "echo: hello"


async def test_slow_writer_writes_the_same_story_every_time(examples: dict[str, Example]) -> None:
    async with connected(examples["slow_writer"]) as client:
        first, second = await answers(client, "go"), await answers(client, "go")
    assert artifact_text(first, "story") == STORY
    assert artifact_text(second, "story") == STORY
    assert first[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert all(metadata(e) == {} for e in first[1:])


async def test_census_without_a_sidecar_is_an_ordinary_agent(examples: dict[str, Example]) -> None:
    urls = (await page_urls(examples))[:12]
    async with connected(examples["census"]) as client:
        events = await answers(client, "\n".join(urls))
    async with httpx.AsyncClient() as web:
        card = (await web.get(examples["census"].url + "/.well-known/agent-card.json")).json()
    assert [e["uri"] for e in card["capabilities"]["extensions"]] == [URI]
    assert events[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert all(metadata(e) == {} for e in events[1:])
    rows = list(csv.DictReader(io.StringIO(artifact_text(events, "census rows"))))
    assert [row["url"] for row in rows] == urls
    assert all(int(row["bytes"]) > 1000 and int(row["words"]) > 50 and len(row["sha256"]) == 64 for row in rows)
    assert rows[1]["title"].endswith("argparse")
    (whole,) = [e.artifact_update.artifact for e in events if e.artifact_update.artifact.name == "census.csv"]
    assert whole.parts[0].raw.decode() == artifact_text(events, "census rows")


async def test_census_in_another_process_goes_on_from_the_checkpoint(examples: dict[str, Example]) -> None:
    urls = (await page_urls(examples))[20:26]
    first = {"attempt": 1, "fence": 1, "task": "public"}
    async with connected(examples["census"]) as client:
        whole = await answers(client, "\n".join(urls), first)
    marked = [metadata(e)[CHECKPOINT] for e in whole[1:] if CHECKPOINT in metadata(e)]
    assert [len(state) for state in marked] == [1, 2, 3, 4, 5, 6]

    run = {**first, "attempt": 2, "fence": 2, "resume": {"checkpoint": marked[3], "receipts": [], "delivered": {}}}
    async with connected(examples["census_too"]) as client:
        rest = await answers(client, "\n".join(urls), run)
    assert [metadata(e)[CHECKPOINT] for e in rest[1:] if CHECKPOINT in metadata(e)] == marked[4:]
    assert [CONTINUES in metadata(e) for e in rest[1:3]] == [True, False]
    assert RUN not in json_format.MessageToDict(rest[0].task.history[0].metadata)
    before, after = artifact_text(whole, "census rows"), artifact_text(rest, "census rows")
    assert before.endswith(after)
    assert after.count("\n") == 2
    files = [
        e.artifact_update.artifact.parts[0].raw
        for e in [*whole, *rest]
        if e.artifact_update.artifact.name == "census.csv"
    ]
    assert files[0] == files[1] == before.encode()

    async with httpx.AsyncClient() as web:
        counts = (await web.get(examples["pages"].url + "/counts")).json()
    assert [counts[name] for name in MODULES[20:26]] == [1, 1, 1, 1, 2, 2]


async def test_an_intent_has_left_the_process_before_the_call_that_kills_it() -> None:
    payer = Example("tests.integration.paying_agent")
    got: list[StreamResponse] = []
    try:
        async with connected(payer) as client:
            with pytest.raises(A2AClientError):
                await answers(client, "pay", {"attempt": 1, "fence": 1, "task": "public"}, got)
    finally:
        payer.stop()
    assert payer.process.returncode == -signal.SIGKILL
    assert metadata(got[-1])[EFFECT] == {"step": "pay", "phase": "intended", "key": "public/pay"}


@pytest.mark.parametrize("name", ["pages", "echo", "slow_writer", "census"])
def test_every_example_explains_itself(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", f"examples.{name}", "--help"], capture_output=True, text=True, check=True
    )
    assert f"python -m examples.{name} --port" in shown.stdout
