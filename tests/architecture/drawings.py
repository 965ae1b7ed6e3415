"""What pages show is drawn from the tables that decide: each drawing stands between two marks of its page.

``make format`` draws them anew; a test fails while a page shows something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from tests.architecture import candidate_table, gossip_table, proof_map, rules_run, state_table
from tests.architecture.sources import ROOT

PAGES = (ROOT / "bridge" / "README.md", ROOT / "tests" / "simulation" / "README.md")
PLACE = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- /drawn -->)", re.DOTALL)

DRAWINGS: Final[Mapping[str, Callable[[], str]]] = {
    "life": candidate_table.life,
    "stages": candidate_table.stages,
    "answers": candidate_table.answers,
    "moves": state_table.diagram,
    "states": state_table.table,
    "standings": gossip_table.standings,
    "heard": gossip_table.meanings,
    "proof": proof_map.proof_map,
    "rules": rules_run.rules_run,
    "files": rules_run.files,
    "scenarios": proof_map.scenarios,
}


def drawn(text: str) -> str:
    """A page's text with every drawing as it must be."""
    return PLACE.sub(lambda place: f"{place[1]}{DRAWINGS[place[2]]()}\n{place[3]}", text)


def names_in(text: str) -> list[str]:
    """The drawings that a page has."""
    return [place[2] for place in PLACE.finditer(text)]


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(drawn(page.read_text(encoding="utf-8")), encoding="utf-8")
