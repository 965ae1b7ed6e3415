"""Log lines: fields on every line, no credentials, and nothing that a message can do to its caller."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.about import about, note, subject
from sidecar.ops.logs import configure, hide
from sidecar.sections import LogOptions

log = logging.getLogger("sidecar.test")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    before, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    yield
    root.handlers[:] = before
    root.setLevel(level)
    logging.raiseExceptions = raising


@pytest.fixture
def lines() -> Any:
    out = io.StringIO()
    configure(LogOptions(), out, session="boot1", sidecar="left")
    return lambda: [json.loads(line) for line in out.getvalue().splitlines()]


def test_json_where_there_is_no_terminal(lines: Any) -> None:
    log.info("claimed", extra={"reason": "orphaned"})
    (line,) = lines()
    assert line["message"] == "claimed"
    assert line["level"] == "info"
    assert line["logger"] == "sidecar.test"
    assert line["reason"] == "orphaned"
    assert (line["session"], line["sidecar"]) == ("boot1", "left")
    assert line["at"].endswith("Z")
    assert "T" in line["at"]


def test_a_block_puts_task_and_fence_on_every_line(lines: Any) -> None:
    with about(task="t-1", fence=4):
        log.info("one")
        with about(fence=5):
            log.info("two", extra={"session": "boot2"})
        log.info("three")
    log.info("four")
    one, two, three, four = lines()
    assert (one["task"], one["fence"], one["session"]) == ("t-1", 4, "boot1")
    assert (two["task"], two["fence"], two["session"]) == ("t-1", 5, "boot2")
    assert three["fence"] == 4
    assert "task" not in four


async def test_coroutines_do_not_mix_their_subjects(lines: Any) -> None:
    async def work(task: str, fence: int) -> None:
        note(task=task, fence=fence)
        await asyncio.sleep(0)
        log.info("working")

    await asyncio.gather(work("a", 1), work("b", 2))
    assert {(line["task"], line["fence"]) for line in lines()} == {("a", 1), ("b", 2)}
    assert subject() == {}


def test_credentials_do_not_reach_the_log(lines: Any) -> None:
    log.info(
        "calling http://ada:pw1@agent/ with Bearer abc.def-123 and api_key=k9k9k9",
        extra={
            "Authorization": "secret-1",
            "headers": {"Cookie": "secret-2", "A2A-Version": "1.0", "X-A2A-Notification-Token": "secret-3"},
            "urls": ["http://u:secret-4@h/"],
            "tokens": 12,
        },
    )
    (line,) = lines()
    text = json.dumps(line)
    assert not any(
        word in text for word in ("pw1", "abc.def", "k9k9", "secret-1", "secret-2", "secret-3", "secret-4")
    )
    assert line["headers"]["A2A-Version"] == "1.0"
    assert line["tokens"] == 12


def test_hide_leaves_ordinary_text_alone() -> None:
    text = "task 0190 took over at fence 3: http://127.0.0.1:9000/a?b=c (basic rules, token bucket)"
    assert hide(text) == text


def test_a_wrong_line_does_not_stop_its_caller(lines: Any) -> None:
    message = "%d of %d"
    log.info(message, "many")
    log.info("odd", extra={"big": 1 << 70, "lone": "\ud800", "what": object()})
    first, second = lines()
    assert "cannot be formatted" in first["message"]
    assert second["message"] == "'odd'" or second["message"] == "odd"
    assert "1180591620717411303424" in str(second["big"])


def test_a_fault_carries_its_traceback(lines: Any) -> None:
    try:
        raise ValueError("Bearer abcdefgh")
    except ValueError:
        log.exception("failed")
    (line,) = lines()
    assert "ValueError" in line["error"]
    assert "abcdefgh" not in line["error"]


def test_text_on_a_terminal_in_colour() -> None:
    out = Terminal()
    configure(LogOptions(), out)
    with about(task="0190abcd-ef", fence=3):
        log.warning("took over")
    text = out.getvalue()
    assert "\x1b[33mwarning" in text
    assert "took over" in text
    assert "task=0190abcd" in text
    assert "fence=3" in text


@pytest.mark.parametrize("options", [LogOptions(colour="never"), LogOptions(format="text", colour="never")])
def test_no_colour_when_told(options: LogOptions) -> None:
    out = Terminal()
    configure(options, out)
    log.warning("plain")
    assert "\x1b" not in out.getvalue()


def test_no_colour_into_a_file() -> None:
    out = io.StringIO()
    configure(LogOptions(format="text"), out)
    log.warning("plain")
    assert "\x1b" not in out.getvalue()
    assert "plain" in out.getvalue()


def test_an_agents_text_cannot_forge_lines() -> None:
    out = io.StringIO()
    configure(LogOptions(format="text"), out)
    log.info("agent said %s", "x\n12:00:00 error   forged \x1b[31m", extra={"detail": "a\nb"})
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()


def test_the_level_counts() -> None:
    out = io.StringIO()
    configure(LogOptions(level="warning"), out)
    log.info("quiet")
    log.warning("loud")
    assert "quiet" not in out.getvalue()
    assert "loud" in out.getvalue()
