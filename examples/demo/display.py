"""What a person sees while the demo runs: a live picture on a terminal, plain lines elsewhere.

Shows only what it is given; nothing is computed here that the evidence does not hold. It prevents a demo that
looks alive while nothing happens: every line stands for something that was just observed.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from examples.demo.evidence import Act, Note

NOTES_SHOWN = 8
TEXT_SHOWN = 200
PLAIN_STEPS = 6


class Display(Protocol):
    """How progress is told."""

    def act(self, title: str, story: str) -> None:
        """An act begins."""

    def cast(self, rows: dict[str, str]) -> None:
        """Who is on stage and how each is: name to state."""

    def progress(self, done: int, total: int, unit: str, text: str) -> None:
        """How far the client is, and the end of what it has read."""

    def note(self, note: Note) -> None:
        """Something happened."""

    def verdict(self, act: Act) -> None:
        """An act is over."""


class Plain:
    """Lines for logs, pipes and people who set NO_COLOR."""

    def __init__(self) -> None:
        self._told = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()

    def act(self, title: str, story: str) -> None:
        """Print the title."""
        self._told = 0
        print(f"\n{title}\n{story}", flush=True)

    def cast(self, rows: dict[str, str]) -> None:
        """Nothing: each change is also a note."""

    def progress(self, done: int, total: int, unit: str, text: str) -> None:
        """Print a few steps and the last."""
        del text
        step = done * PLAIN_STEPS // total > self._told * PLAIN_STEPS // total
        if step or (done == total and self._told != done):
            self._told = done
            print(f"           client has {done} of {total} {unit}", flush=True)

    def note(self, note: Note) -> None:
        """Print what happened and when."""
        print(f"{note.at_ms / 1000:8.3f} s {note.who}: {note.what}", flush=True)

    def verdict(self, act: Act) -> None:
        """Print every promise with what was seen."""
        for line in _verdict_lines(act):
            print(line, flush=True)


class Lively:
    """A live picture, redrawn as things happen; what is over scrolls away above it."""

    def __init__(self) -> None:
        self._console = Console()
        self._live = Live(console=self._console, refresh_per_second=12, transient=True)
        self._title = ""
        self._story = ""
        self._cast: dict[str, str] = {}
        self._done, self._total, self._unit, self._text = 0, 1, "", ""
        self._notes: list[Note] = []

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def act(self, title: str, story: str) -> None:
        """Clear the picture."""
        self._title, self._story = title, story
        self._cast, self._notes = {}, []
        self._done, self._total, self._unit, self._text = 0, 1, "", ""
        self._draw()

    def cast(self, rows: dict[str, str]) -> None:
        """Redraw who is on stage."""
        self._cast = dict(rows)
        self._draw()

    def progress(self, done: int, total: int, unit: str, text: str) -> None:
        """Move the bar."""
        self._done, self._total, self._unit, self._text = done, total, unit, text
        self._draw()

    def note(self, note: Note) -> None:
        """Add a line to the picture."""
        self._notes.append(note)
        self._draw()

    def verdict(self, act: Act) -> None:
        """Leave the act's notes and promises standing above the picture."""
        for line in [f"[bold]{self._title}[/]", self._story, *(_noted(note) for note in self._notes)]:
            self._console.print(line, highlight=False)
        for check in act.checks:
            mark = "[green]✔[/]" if check.kept else "[bold red]✘[/]"
            self._console.print(f"  {mark} {check.name}: [dim]{_safe(check.seen)}[/]", highlight=False)
        self._console.print()
        self._live.update(Text(""))

    def _draw(self) -> None:
        people = Table.grid(padding=(0, 3))
        for name, state in self._cast.items():
            gone = not state.startswith("pid")
            people.add_row(Text("✘" if gone else "●", "bold red" if gone else "green"), name, Text(state, "dim"))
        bar = Table.grid(padding=(0, 2))
        reached = f"{self._done} of {self._total} {self._unit}"
        bar.add_row("client", ProgressBar(self._total, self._done, width=48), reached)
        parts: list[RenderableType] = [Text(self._story, "dim"), "", people, "", bar]
        parts.append(Text("…" + self._text[-TEXT_SHOWN:] if self._text else "", "italic"))
        parts.append("")
        parts += [Text.from_markup(_noted(note)) for note in self._notes[-NOTES_SHOWN:]]
        self._live.update(Panel(Group(*parts), title=self._title, border_style="cyan"))


def choose() -> Lively | Plain:
    """A live picture where somebody watches, plain lines where not."""
    return Lively() if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else Plain()


def _noted(note: Note) -> str:
    strong = "bold red" if note.what.startswith("SIG") else "default"
    return f"[dim]{note.at_ms / 1000:8.3f} s[/] {note.who}: [{strong}]{_safe(note.what)}[/]"


def _safe(text: str) -> str:
    return text.replace("[", r"\[")


def _verdict_lines(act: Act) -> list[str]:
    return [f"  {'ok  ' if check.kept else 'FAIL'} {check.name}: {check.seen}" for check in act.checks]
