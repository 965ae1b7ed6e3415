"""What a mutation is: one rule broken on purpose, as data.

This file must not import anything that can be broken: whoever reads the catalogue decides afterwards which module
is loaded in which form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

OWN = "the rules' own invariant"
"""Who caught it where the rules stopped the process themselves."""


class Edit(NamedTuple):
    """One place in one module.

    Attributes:
        module: its full name.
        old: text that stands in it exactly once.
        new: what stands there instead.
    """

    module: str
    old: str
    new: str


class Worlds(NamedTuple):
    """Among which seeds the rule matters: those whose drawn options are so.

    Attributes:
        on: kinds of fault that must be switched on.
        off: kinds of fault that must not.
        having: options that must have this value.
        story: key of the scenario whose directed worlds are lived through instead; one seed of it may be many.
    """

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    having: Mapping[str, Any] = {}
    story: str = ""


ANY = Worlds()
THREE = Worlds(having={"voters": 3})
RIVALS = Worlds(having={"voters": 3, "suspicion": 1.0})
"""Owners are taken for dead all the time: fences must do without what leases promise."""
IN_CHUNKS = Worlds(having={"voters": 3, "suspicion": 1.0, "bounds": (1, 1 << 20)})
"""The same, and a message carries one entry."""
CUT_OFF = Worlds(on=("partition",), having={"voters": 3, "suspicion": 1.0})
"""The same, and an owner that nobody hears goes on for a while."""


class Mutation(NamedTuple):
    """One rule, broken.

    Attributes:
        name: what is broken, in the words of the rules.
        promise: name of the checker that must see it.
        edits: how it is broken; more than one place where another rule covers for the first.
        worlds: where it matters.
        covered: which other rules are broken with it, and why that is needed; "" where it is visible alone.
        seeds_max: after so many worlds without a broken promise it counts as not caught.
    """

    name: str
    promise: str
    edits: tuple[Edit, ...]
    worlds: Worlds = ANY
    covered: str = ""
    seeds_max: int = 3_000
