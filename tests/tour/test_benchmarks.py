"""The benchmarks run, every part of them, and say what they measured: structure, not speed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from benchmarks import page, stand
from benchmarks.__main__ import PARTS, arguments, measure, run
from benchmarks.budgets import BUDGETS
from benchmarks.figures import Figures
from benchmarks.plots import bars
from benchmarks.scale import SMOKE
from tests.integration import forking

KINDS = ("rate", "p50", "p99", "cpu")
GROUPS = {
    "ceiling": {"ceiling"},
    "stream": {"stream", "stream.fsyncs", "stream.cpu"},
    "streams": {"streams"},
    "send": {f"send{to}.c{c}.{what}" for to in ("", ".canned") for c in (1, 16) for what in KINDS},
    "get": {f"get.c{c}.{what}" for c in (1, 16) for what in KINDS},
    "takeover": {"takeover.resumed", "takeover.event"},
    "gateway": {"takeover.resumed", "takeover.event"},
    "idle": {"idle.start", "idle.memory", "idle.cpu"},
    "open": {"open.memory", "open.cpu"},
    "waiting": {"waiting.memory", "waiting.cpu", "waiting.start", "waiting.asked"},
    "fairness": {"writers.rate", "writers.longest", "writers.share"},
    "wire": {"wire.call", "wire.appends", "wire.cpu", "wire.bytes"},
}  # fmt: skip


OVER_HOSTS = {"hosts", "dead", "proven", "crowd", "majority"}
"""Tried in ``test_benchmarks_over_hosts``."""


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that a benchmark starts as interpreters of their own are forked, as in every other test."""
    for kind in (stand.Agent, stand.Sidecar):
        monkeypatch.setattr(kind, "popen", staticmethod(forking.start))


@pytest.mark.parametrize("name", GROUPS)
async def test_each_part_measures_what_it_names(name: str) -> None:
    await measures(name, GROUPS[name])


def test_each_part_is_tried() -> None:
    assert set(PARTS) == {*GROUPS, *OVER_HOSTS}


async def measures(name: str, groups: set[str]) -> None:
    figures = Figures()
    await measure(name, SMOKE, figures, random.Random(1))
    assert set(figures.groups) == groups
    for group in figures.groups.values():
        assert group.ways
        for samples in group.ways.values():
            assert samples
            assert all(isinstance(sample, int | float) for sample in samples)


async def test_a_run_is_told_as_json_and_as_a_page(tmp_path: Path) -> None:
    figures, said = await run(["ceiling"], SMOKE, "quick", 7)
    figures.open("stream", "One stream", "events/s")
    figures.add("stream", "direct", 50_000, 70_000)
    figures.add("stream", "sidecar", 19_000, 23_000, 30_000)
    page.write(figures, said, tmp_path / "page.md", tmp_path / "page")
    text = (tmp_path / "page.md").read_text()
    assert "| one stream of the canned agent: durable events/s | ≥ 20,000 | 23,000 | holds |" in text
    assert "| One stream, events/s | 60,000 |  | 23,000 | 0.38 |  |" in text
    assert "seed 7" in text
    assert "load average" in text
    drawn = ET.parse(tmp_path / "page" / "stream.svg").getroot()
    assert len([each for each in drawn.iter() if each.tag.endswith("circle")]) == 5
    told = json.loads(json.dumps(said))
    assert told["machine"]["cores"] > 0
    assert told["figures"]["ceiling"]["samples"]["this generator"]


def test_a_missed_budget_is_called_missed() -> None:
    floor, ceiling = BUDGETS[2], BUDGETS[0]
    assert (floor.holds(20_000), floor.holds(19_999)) == (True, False)
    assert (ceiling.holds(1.0), ceiling.holds(1.01)) == (True, False)
    assert all(budget.value(Figures()) is None for budget in BUDGETS)


def test_bars_stay_inside_their_picture() -> None:
    drawn = ET.fromstring(bars("t & t", "ms", {"a": [1.0, 3.0], "<b>": [-0.5, 0.0]}))
    ends = [float(each.get("x2", "0")) for each in drawn.iter() if each.tag.endswith("line")]
    assert max(ends) <= float(drawn.get("width", "0"))


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert arguments(["--only", "stream", "get"]).only == ["stream", "get"]
    with pytest.raises(SystemExit):
        arguments(["--only", "nothing"])
    assert "fairness" in capsys.readouterr().err
