"""Values arrive as they were sent: whatever JSON can say, both ways, live, from the journal, after a restart."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.integration.raw_agent import Exchange, Json, RawAgent
from tests.integration.scripted import COMPLETED, INPUT_REQUIRED, WORKING, Play, chunk, status, stream, task
from tests.integration.stage import V1, Recording, Stage, message, wait_for

VALUES: Json = {
    "n": 1, "z": 0, "f": False, "t": True, "nothing": None, "e": "", "list": [], "object": {},
    "big": 9007199254740993, "huge": 2**70, "negative": -(2**63), "beyond": -(2**70) - 1, "unsigned": 2**64 - 1,
    "whole": 1.0, "minus_zero": -0.0, "third": 0.1 + 0.2, "least": 5e-324, "most": 1.7976931348623157e308,
    "u": "\u00e9\U0001f600",
    "controls": '\x00\x1f\x7f\x85\u2028\u2029\r\n\t"\\/', "e\u0301 \U0001f600": "as a name",
    "deep": [[[{"a": [{"": [None, False, 0, "", [], {}]}]}]]], "taskId": "not an id of ours",
    "event": {"task": {"id": "neither"}}, "digits": "9" * 40, "html": "</script><!--",
}  # fmt: skip
LONE_SURROGATE = '"\\ud800"'
UNUSABLE = ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", LONE_SURROGATE, '{"\\udc00": 1}', "[1,]", "[" * 300]


def same(one: Any, other: Any) -> bool:
    """Equal in value and type: 1 is not 1.0, 0 is not False, -0.0 is not 0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other)


def differing(value: Json) -> str:
    """Where a value that should be ``VALUES`` is not, for the error message."""
    return ", ".join(
        f"{name}: {VALUES.get(name)!r} is {value.get(name)!r}"
        for name in {**VALUES, **value}
        if not same(VALUES.get(name), value.get(name))
    )


def full(text: str, **fields: Any) -> Json:
    """A message with the values wherever a client may put them."""
    params = message(text, metadata=VALUES, futureField=VALUES, extensions=["urn:x"], **fields)
    params["message"]["parts"] += [{"data": VALUES, "metadata": VALUES, "mediaType": "application/json"}]
    return params | {"metadata": VALUES, "futureField": VALUES, "futureZero": 0, "id": "of no entry"}


def places(sent: Json) -> dict[str, Any]:
    """What stands where ``full`` has put the values."""
    said = sent["message"]
    data = said["parts"][1]
    return {
        "params.metadata": sent["metadata"], "params.futureField": sent["futureField"],
        "message.metadata": said["metadata"], "message.futureField": said["futureField"],
        "part.data": data["data"], "part.metadata": data["metadata"],
    }  # fmt: skip


def said(text: str) -> Json:
    """What an agent says, with the values wherever it may put them."""
    part = {"data": VALUES, "metadata": VALUES, "futureField": VALUES}
    parts = [{"text": text}, part]
    return {"messageId": text, "role": "ROLE_AGENT", "parts": parts, "metadata": VALUES, "futureField": VALUES}


def shown() -> list[Json]:
    """The events of a run with the values in every place."""
    ids = {"taskId": "t1", "contextId": "c1"}
    extra = {"metadata": VALUES, "futureField": VALUES}
    artifact = {"artifactId": "a", "name": "a", "parts": said("x")["parts"], **extra}
    speaks = {"state": WORKING, "message": said("one"), "futureField": VALUES}
    return [
        task(WORKING, **extra, history=[said("zero")]),
        {"statusUpdate": {**ids, "status": speaks, **extra}},
        {"artifactUpdate": {**ids, "artifact": artifact, "append": False, "lastChunk": True, **extra}},
    ]


def without_ids(event: Json) -> Json:
    """An event without what the sidecar is there to change."""
    (kind, body), = event.items()  # fmt: skip
    ours = {"id", "taskId", "contextId"}
    return {kind: {name: value for name, value in body.items() if name not in ours}}


async def test_case_103_client_to_agent(stage: Stage) -> None:
    turns = [
        stream(task(WORKING), status(INPUT_REQUIRED, "?")),
        stream(status(COMPLETED)),
    ]

    async def next_turn(exchange: Exchange) -> None:
        await turns.pop(0)(exchange)

    play = Play(SendStreamingMessage=next_turn)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        first = (await stage.rpc(sidecar, "SendMessage", full("first")))["task"]
        second = stage.stream(sidecar, "SendStreamingMessage", full("second", taskId=first["id"]))
        await second.ended()
        assert second.state == COMPLETED
        assert len(play.params) == 2
        for sent in play.params:
            assert same(sent["futureZero"], 0)
            for place, value in places(sent).items():
                assert same(value, VALUES), f"{place}: {differing(value)}"
        done = await stage.task(sidecar, first["id"])
        follow_up = next(each for each in done["history"] if each["parts"][0].get("text") == "second")
        assert same(follow_up["metadata"], VALUES), differing(follow_up["metadata"])
        assert same(follow_up["parts"][1]["data"], VALUES)
    await stage.verify()


async def test_case_103_agent_to_client_live_later_and_after_a_restart(stage: Stage) -> None:
    events = shown()
    go_on = asyncio.Event()

    async def run(exchange: Exchange) -> None:
        await exchange.head()
        for event in events:
            await exchange.event(event)
        await go_on.wait()
        await exchange.event(status(COMPLETED))
        await exchange.end()

    async with RawAgent(Play(SendStreamingMessage=run)) as agent:
        sidecar, other = (stage.sidecar(agent.url, group="g") for _ in range(2))
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("go"))
        await wait_for(lambda: len(seen.frames) == 3)
        for frame, event in zip(seen.frames, events, strict=True):
            assert same(without_ids(frame.event), without_ids(event)), frame.event
        snapshots: list[Recording] = [
            stage.stream(each, "SubscribeToTask", {"id": seen.task_id}) for each in (sidecar, other)
        ]
        await wait_for(lambda: all(each.frames for each in snapshots))
        running = await stage.task(sidecar, seen.task_id)
        assert same(snapshots[0].frames[0].event["task"], running)
        assert same(snapshots[1].frames[0].event["task"], running)
        assert same(running["metadata"], VALUES), differing(running["metadata"])
        assert same(running["artifacts"][0]["parts"][1]["data"], VALUES)
        assert same(running["artifacts"][0]["metadata"], VALUES)
        assert same(running["status"]["message"]["parts"][1]["data"], VALUES)
        assert same(running["history"][-1]["metadata"], VALUES)
        go_on.set()
        await seen.ended()
        done = await stage.task(sidecar, seen.task_id)
        sidecar.kill()
        await stage.restart(sidecar)
        for each in (sidecar, other):
            assert same(await stage.task(each, seen.task_id), done)
        assert same(done["artifacts"], running["artifacts"])
    await stage.verify()


async def test_case_103_a_reply_without_a_task(stage: Stage) -> None:
    async with RawAgent(Play(SendStreamingMessage=stream({"message": said("reply")}))) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.stream(sidecar, "SendStreamingMessage", message("go"))
        await seen.ended()
        for reply in (seen.frames[0].event, await stage.rpc(sidecar, "SendMessage", message("go"))):
            assert same(without_ids(reply), {"message": said("reply")})
    await stage.verify()


async def test_case_103_the_stock_client_reads_lines_that_are_none(stage: Stage) -> None:
    """It splits at Unicode's line separators, which SSE and JSON do not; an SDK agent happens to escape them."""
    text = "one\u2028two\u2029three\x85four\x0bfive\x1csix"

    async def unescaped(exchange: Exchange) -> None:
        await exchange.head()
        for event in (task(WORKING), chunk(text, append=False), status(COMPLETED)):
            frame = {"jsonrpc": "2.0", "id": exchange.rpc["id"], "result": event}
            await exchange.chunk(f"data: {json.dumps(frame, ensure_ascii=False)}\n\n".encode())
        await exchange.end()

    async with RawAgent(Play(SendStreamingMessage=unescaped)) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        seen = stage.send(sidecar, "go")
        await seen.ended()
        assert seen.completed
        assert seen.text == text
    await stage.verify()


async def test_case_103_what_is_no_json_value_is_refused_with_a_reason_on_both_sides(stage: Stage) -> None:
    async def bad_answer(exchange: Exchange) -> None:
        value = UNUSABLE[int(exchange.rpc["params"]["message"]["parts"][0]["text"])]
        event = json.dumps({"jsonrpc": "2.0", "id": exchange.rpc["id"], "result": task(WORKING, metadata="@")})
        await exchange.head()
        await exchange.chunk(f"data: {event.replace(chr(34) + '@' + chr(34), value)}\n\n".encode())
        await exchange.end()

    play = Play(SendStreamingMessage=bad_answer)
    async with RawAgent(play) as agent:
        sidecar = stage.sidecar(agent.url)
        await stage.ready()
        for value in UNUSABLE:
            for place in ("metadata", "message"):
                params = message("x", metadata="@") if place == "message" else message("x") | {"metadata": "@"}
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params})
                content = body.replace('"@"', value).encode()
                answer = await stage.web.post(f"{sidecar.url}/rpc", content=content, headers=V1)
                assert answer.status_code == 200
                assert answer.json()["error"]["code"] == -32700, value
                assert answer.json()["error"]["message"]
        assert play.asked == []
        assert await stage.task_ids() == []
        for number, value in enumerate(UNUSABLE):
            refused = await stage.rpc(sidecar, "SendMessage", message(str(number)))
            assert refused["error"]["code"] == -32006, value
            assert "JSON" in refused["error"]["message"]
        play.parts["SendStreamingMessage"] = stream(task(WORKING), status(COMPLETED))
        done = (await stage.rpc(sidecar, "SendMessage", message("x")))["task"]
        assert done["status"]["state"] == COMPLETED
    await stage.verify()
