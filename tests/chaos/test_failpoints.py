"""A sidecar dies at each named place around its commits: nothing is lost, nothing is done or told twice.

Each story leads through some failpoints, one death after the other, on one stage; stories run beside each other.
The last test holds the list against ``sidecar.failpoints``: a new point needs a story.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidecar.failpoints import POINTS
from tests.chaos.dying import PATIENCE_S, Cast, plain, tagged
from tests.integration.recording import Json
from tests.integration.stage import wait_for

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400), pytest.mark.usefixtures("quick")]
AT_ONCE = 4
WORK = "steps=5 pace=0.03"
LONGER = "steps=12 pace=0.1"
Tell = Callable[[Cast, str], Awaitable[Any]]


class Story(NamedTuple):
    """What happens on a stage while failpoints are passed.

    Attributes:
        name: in messages about failures.
        kind: of the agent.
        tell: plays it once with these failpoints ("" for none); returns how every task must look.
        points: one death each: where the sidecar dies alone, and after "|" where its agent dies with it.
        others_needed: it is a story about two sidecars.
    """

    name: str
    kind: str
    tell: Tell
    points: tuple[str, ...]
    others_needed: bool = False


def around(kind: str, alone: int = 1, together: int = 1) -> tuple[str, ...]:
    moments = ("before_commit", "after_commit", "after_publish")
    return tuple(f"{kind}.{moment}=kill:{alone}|{kind}.{moment}=kill:{together}" for moment in moments)


async def work(cast: Cast, failpoints: str) -> Any:
    """A streaming and a blocking client."""
    if failpoints:
        await cast.rearm(cast.a, failpoints)
    seen, _ = await asyncio.gather(cast.insist(tagged(WORK)), cast.insist(tagged(WORK), blocking=True))
    return plain(seen)


async def ask(cast: Cast, failpoints: str) -> Any:
    """A question is asked and answered."""
    if failpoints:
        await cast.rearm(cast.a, failpoints)
    asked = await cast.insist(tagged("questions=1"))
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", asked
    return plain(await cast.insist(tagged("blue", taskId=asked["id"])))


async def answer_elsewhere(cast: Cast, failpoints: str) -> Any:
    """The answer goes to another sidecar than the one that owns the task."""
    assert cast.b is not None
    if failpoints:
        await cast.rearm(cast.b, failpoints)
    asked = await cast.insist(tagged("questions=1"))
    return plain(await cast.insist(tagged("blue", taskId=asked["id"]), at=cast.b))


async def cancel(cast: Cast, failpoints: str) -> Any:
    """A client cancels."""
    if failpoints:
        await cast.rearm(cast.a, failpoints)
    params = tagged("")
    following = asyncio.ensure_future(cast.insist(params))
    task_id = await wait_for(lambda: _task_of(cast, params), PATIENCE_S)
    await cast.persist("CancelTask", {"id": task_id})
    return plain(await following)


async def lose_agent(cast: Cast, failpoints: str) -> Any:
    """The agent is killed, and its sidecar dies over saying so."""
    if failpoints:
        await cast.rearm(cast.a, failpoints)
    params = tagged(LONGER)
    following = asyncio.ensure_future(cast.insist(params))
    if failpoints:
        await wait_for(lambda: _begun(cast, params), PATIENCE_S)
        cast.agents[0].kill()
        await cast.mended(PATIENCE_S)
    return plain(await following)


async def take_over(cast: Cast, failpoints: str) -> Any:
    """The owner dies, and who claims its task dies over it."""
    params = tagged(LONGER)
    claimant = cast.b or cast.a
    if failpoints and cast.b is not None:
        await cast.rearm(cast.b, failpoints)
    cast.deaths = 0
    following = asyncio.ensure_future(cast.insist(params))
    if failpoints:
        await wait_for(lambda: _begun(cast, params), PATIENCE_S)
        async with cast.mending:
            cast.deaths += 1
            cast.a.kill()
            if cast.both or cast.b is not None:
                cast.agents[0].kill()
            if cast.b is None:
                if cast.both:
                    cast.agents[0].start()
                cast.a.start(failpoints)
        await wait_for(
            lambda: cast.deaths > 1 or not claimant.alive, PATIENCE_S, f"{claimant.name} dies at {failpoints}"
        )
        await cast.mended()
    return plain(await following)


async def _task_of(cast: Cast, params: Json) -> str:
    """The task that clients can see and that a message led to, "" if there is none yet."""
    page = await cast.persist("ListTasks", {"pageSize": 100})
    wanted = params["message"]["messageId"]
    found = [task["id"] for task in page["tasks"] if any(said["messageId"] == wanted for said in task["history"])]
    return found[0] if found else ""


async def _begun(cast: Cast, params: Json) -> bool:
    text = params["message"]["parts"][0]["text"]
    at_work = any(line["text"] == text for line in cast.agents[0].journal("step 3"))
    return at_work and bool(await _task_of(cast, params))


STORIES = (
    Story("accept", "steady", work, (
        "accept.before_commit=kill", "accept.after_commit=kill", "accept.before_answer=kill",
        "request.before_send=kill|request.before_send=kill:2", *around("bound", 1, 2), *around("answered"),
    )),
    Story("work", "steady", work, (
        *around("event", 5, 1), *around("step", 1, 3), *around("terminal", 2, 1),
        "event.before_commit=kill-after:60", "event.after_publish=kill-after:25",
    )),
    Story("store", "steady", work, tuple(
        f"store.{moment}=kill:{n}|store.{moment}=kill:{n + 3}"
        for moment in ("before_begin", "before_commit", "after_commit") for n in (6, 12)
    )),
    Story("ask", "input", ask, (
        *around("suspended"), *around("input"), *around("bound", 2, 2), "request.before_send=kill:2",
        "event.after_commit=kill:2", "terminal.after_commit=kill", "answered.after_commit=kill:2",
    )),
    Story("answer elsewhere", "input", answer_elsewhere, (
        "inbox.before_commit=kill", "inbox.after_commit=kill",
    ), others_needed=True),
    Story("cancel", "silent", cancel, (*around("cancel"), *around("terminal"))),
    Story("lose the agent", "steady", lose_agent, around("orphaned")),
    Story("take over", "steady", take_over, (
        "claim.granted=kill", "claim.before_commit=kill", "claim.after_commit=kill", "request.before_send=kill",
    )),
)  # fmt: skip


async def play(story: Story, directory: Path, *, both: bool, standby: bool) -> None:
    cast = Cast(directory, story.kind, both=both, standby=standby or story.others_needed)
    try:
        await cast.stage.ready()
        expected = await story.tell(cast, "")
        await cast.settled(expected)
        for points in story.points:
            point = points.split("|")[both and "|" in points]
            try:
                assert await story.tell(cast, point) == expected
                await cast.mended(PATIENCE_S)
                await cast.settled(expected)
            except BaseException as wrong:
                wrong.add_note(f"at {point} of {story.name!r}, both={both}, standby={standby}")
                raise
    finally:
        await cast.stage.close()


async def play_all(stories: Iterable[Story], directory: Path, *, both: bool) -> None:
    turn = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, story: Story) -> None:
        async with turn:
            # Half of the stages have a standby: every second one, and the other half when agents die as well.
            await play(story, directory / story.name.replace(" ", "-"), both=both, standby=number % 2 == both)

    ends = await asyncio.gather(*(one(*each) for each in enumerate(stories)), return_exceptions=True)
    if wrong := [end for end in ends if isinstance(end, Exception)]:
        raise ExceptionGroup("stories that ended badly", wrong)


async def test_a_sidecar_dies_at_every_point(tmp_path: Path) -> None:
    await play_all(STORIES, tmp_path, both=False)


async def test_a_sidecar_and_its_agent_die_at_every_point(tmp_path: Path) -> None:
    await play_all(STORIES, tmp_path, both=True)


async def test_commits_that_are_told_late_lead_to_nothing_else(tmp_path: Path) -> None:
    """Nobody dies: what others read from the store is only ahead of what its writer has been told, or behind."""
    late = "store.before_commit=sleep:15, store.after_commit=sleep:40"

    async def one(number: int, story: Story) -> None:
        cast = Cast(tmp_path / str(number), story.kind, both=False, standby=True)
        try:
            await cast.stage.ready()
            expected = await story.tell(cast, "")
            assert cast.b is not None
            await cast.rearm(cast.b, late)
            assert await story.tell(cast, late) == expected
            await cast.settled(expected)
            assert not cast.deaths
        finally:
            await cast.stage.close()

    told = [story for story in STORIES if story.tell in (ask, answer_elsewhere, cancel)] + [STORIES[0]]
    await asyncio.gather(*(one(*each) for each in enumerate(told)))


def test_every_failpoint_has_a_story() -> None:
    told = {
        point.partition("=")[0] for story in STORIES for point in story.points
    }  # the same on both sides of "|"
    untold = {"rewound", "review"}  # a divergent run and a silent one: their deaths are those of any event
    failing = {
        "session.before_renew",
        "store.before_read",
    }  # nothing is written there: they fail, in tests of their own
    assert told | failing | {point for point in POINTS if point.partition(".")[0] in untold} == set(POINTS)
