"""The page that people read: budgets first, then every figure with its spread, then pictures.

Every number comes from the run that is handed in. The failure it prevents: a page that quotes another machine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.budgets import BUDGETS, RATIOS
from benchmarks.figures import DIRECT, NGINX, Figures, Group
from benchmarks.machine import busy
from benchmarks.plots import bars, number

Json = dict[str, Any]
PICTURED = (
    "stream", "streams", "send.c1.p50", "send.c16.rate", "send.canned.c16.rate", "get.c1.p50", "get.c16.rate",
    "takeover.resumed", "takeover.event", "open.memory", "waiting.cpu", "writers.longest",
)  # fmt: skip


def write(figures: Figures, run: Json, page: Path, pictures: Path) -> None:
    """Write the page, and a picture for each group that has one."""
    pictures.mkdir(parents=True, exist_ok=True)
    shown = []
    for name in PICTURED:
        group = figures.groups.get(name)
        if group is not None and group.ways:
            picture = pictures / f"{name.replace('.', '-')}.svg"
            picture.write_text(bars(group.title, group.unit, group.ways), encoding="utf-8")
            shown.append(f"![{group.title}]({picture.relative_to(page.parent)})")
    text = [*_opening(run), *_budgets(figures), *_ratios(figures), *_figures(figures), *_pictures(shown)]
    page.write_text("\n".join([*text, *_notes(figures, run)]), encoding="utf-8")


def _opening(run: Json) -> list[str]:
    machine = run["machine"]
    versions = ", ".join(f"{name} {number_}" for name, number_ in machine["versions"].items())
    begun, ended = machine["load_average"], run["load_average_after"]
    state = (
        f"**The machine was busy with other work** when this run began (load average {begun:.1f} on "
        f"{machine['cores']} cores): absolute figures are too low, and ratios suffer too, "
        "because a sidecar adds processes that wait for a core. Verdicts here are provisional."
        if busy(begun, machine["cores"])
        else f"The machine was idle when the run began (load average {begun:.1f} on {machine['cores']} cores)."
    )
    changed = " with uncommitted changes" if machine["changed"] else ""
    return [
        "# Benchmarks",
        "",
        f"Written by `make bench` ({run['mode']} mode, seed {run['seed']}, {run['seconds']:.0f} s) on",
        f"{machine['at']}, commit {machine['commit']}{changed}. Every number was measured in that one run.",
        f"{state} After it: {ended:.1f}, this run's own load included.",
        "",
        f"{machine['cores']} cores ({machine['cpu']}), Linux {machine['kernel']}, Python {machine['python']},",
        f"SQLite {machine['sqlite']}, {versions}, nginx {machine['nginx'] or 'not installed'}.",
        f"A durable append of 300 bytes (write and fdatasync) costs {machine['fsync_ms']:.2f} ms here.",
        "",
        "Agent, sidecar, load generator and nginx share these cores. *direct* is the agent itself.",
        "",
    ]


def _budgets(figures: Figures) -> list[str]:
    lines = ["## Budgets", "", "| promise | budget | measured | |", "|---|---|---|---|"]
    for budget in BUDGETS:
        value = budget.value(figures)
        if value is not None:
            verdict = "holds" if budget.holds(value) else "**missed**"
            lines.append(f"| {budget.text} | {budget.bound} | {number(value)}{budget.unit} | {verdict} |")
    return [*lines, ""]


def _ratios(figures: Figures) -> list[str]:
    lines = [
        "## Beside the direct agent",
        "",
        "| | direct | nginx | sidecar | sidecar ÷ direct | sidecar ÷ nginx |",
    ]
    lines.append("|---|---|---|---|---|---|")
    for name, way in RATIOS:
        group = figures.groups.get(name)
        if group is None or DIRECT not in group.ways:
            continue
        cells = [_median(figures, name, each) for each in (DIRECT, NGINX, way)]
        ratios = [_ratio(figures.ratio(name, way, to)) for to in (DIRECT, NGINX)]
        lines.append("| " + " | ".join([f"{group.title}, {group.unit}", *cells, *ratios]) + " |")
    return [*lines, ""]


def _figures(figures: Figures) -> list[str]:
    lines = ["## Every figure", "", "Median, and the least and greatest of the samples.", ""]
    lines += ["| | | median | spread | samples |", "|---|---|---|---|---|"]
    for group in figures.groups.values():
        lines += _rows(group, figures)
    return [*lines, ""]


def _rows(group: Group, figures: Figures) -> list[str]:
    name = next(key for key, each in figures.groups.items() if each is group)
    return [
        f"| {group.title}, {group.unit} | {way} | {_median(figures, name, way)} "
        f"| {number(min(samples))} to {number(max(samples))} | {len(samples)} |"
        for way, samples in group.ways.items()
    ]


def _pictures(shown: list[str]) -> list[str]:
    return ["## Pictures", "", "Bars are medians; dots are samples.", "", *shown, ""] if shown else []


def _notes(figures: Figures, run: Json) -> list[str]:
    loads = ", ".join(f"{name} {load:.1f}" for name, load in run["load_averages"].items())
    lines = [
        "## How to read it",
        "",
        "- Ways alternate within a round, so that a busy moment of the machine meets all of them.",
        "- Events count once they are in the journal: the sidecar shows nothing before its commit.",
        "- *Commits per event* is the sidecar's own counter; SQLite makes one fsync of its log for each.",
        "- Takeovers: an agent that keeps a checkpoint at each of its steps, of 10 ms, killed at a random moment.",
        "  The next event needs the standby's first step as well.",
        "- The limits for waiting tasks (0.5 % of a core, 5 MB) were chosen here: the budget only says *nothing*.",
        "  They are judged on a sidecar started on a full store; the one that took the tasks is listed beside it.",
        "- The limit for writers is that of the fairness test.",
        "- Memory for each stream or task is the growth of the resident set, divided.",
        f"- Load averages before each part: {loads}.",
        "",
    ]
    generator = figures.median("ceiling", "this generator")
    if generator is not None:
        wrk = figures.median("ceiling", "wrk")
        told = f" (wrk: {number(wrk)})" if wrk else ""
        lines.insert(2, f"- The load generator's own ceiling is {number(generator)} requests/s{told}.")
    return lines


def _median(figures: Figures, name: str, way: str) -> str:
    value = figures.median(name, way)
    return "" if value is None else number(value)


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
