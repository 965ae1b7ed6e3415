"""The README table of options, written from the one in ``sidecar/config.py``."""

from __future__ import annotations

import re

from sidecar.config import OPTIONS
from sidecar.options import Option
from tests.architecture.sources import ROOT

README = ROOT / "README.md"
PLACE = re.compile(r"(<!-- options: [^\n]* -->\n).*?(<!-- /options -->)", re.DOTALL)
HEAD = "| option | default | what it decides | smaller / larger costs |\n|---|---|---|---|\n"


def line(row: Option) -> str:
    """One row of the table."""
    name = f"`{row.flag}`" if row.flag else f"`{row.name}`"
    default = row.default_text if row.shown and not row.shown.startswith("sqlite") else f"`{row.default_text}`"
    costs = f"{row.less} / {row.more}" if row.less else ""
    return f"| {name} | {default} | {row.text} | {costs} |\n".replace("  |", " |")


def with_table(text: str) -> str:
    """The README with the table as it must be."""
    table = HEAD + "".join(map(line, OPTIONS))
    return PLACE.sub(lambda found: f"{found[1]}{table}{found[2]}", text)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
