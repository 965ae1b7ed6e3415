"""A counterexample for people: what happened, and after it what every voter and owner holds.

Decodes the lines that the models print while spin repeats a trail; a journal becomes `1:claimed 1:event`,
each entry with its fence. It prevents a trail of thousands of assignments from being the only witness of a fault.
"""

from __future__ import annotations

from collections.abc import Iterator

KINDS = ("claimed", "event", "completed", "canceled")
JOINT_KINDS = ("claimed", "event", "voters", "canceled")
BITS = 5

SAYS = {
    "CLAIMS": "the claim of fence {0} arrives at voter {1}; its grant is heard",
    "CLAIMS_ENOUGH": "the claim of fence {0} arrives at voter {1}; the last one heard",
    "CLAIMS_UNHEARD": "the claim of fence {0} arrives at voter {1}; its grant is not heard",
    "APPENDS": "an append of fence {0} brings entry {2} to voter {1}",
    "TELLS": "voter {1} hears from fence {0}, after entry {2}, what is committed",
    "WRITES": "the owner of fence {0} writes {kind}",
    "LOSES_ITS_DISK": "voter {1} loses its disk",
    "CRASHES": "host B crashes",
    "BOOTS": "host B boots",
    "COUNTS_ITSELF": "host A counts itself as a voter for fence {0}",
    "QUIET": "all is quiet from here on",
}


def journal(number: int, kinds: tuple[str, ...] = KINDS) -> str:
    """The entries of a journal, each with its fence."""
    entries = []
    while number:
        entry = number & ((1 << BITS) - 1)
        entries.append(f"{entry >> 2}:{kinds[entry & 3]}")
        number >>= BITS
    return " ".join(entries) or "empty"


def readable(printed: str, *, joint: bool = False) -> Iterator[str]:
    """The lines of a trail as sentences; a step whose picture is missing is the one that broke the property."""
    kinds = JOINT_KINDS if joint else KINDS
    step = 0
    for line in printed.splitlines():
        match line.split():
            case ["rule", name, *numbers] if len(numbers) == 3:
                step += 1
                a, b, c = map(int, numbers)
                yield f"{step:3}. " + SAYS[name].format(a, b, c, kind=kinds[b & 3])
            case ["voter", v, held, promised, committed, lost]:
                disk = "  (its disk was lost)" if int(lost) else ""
                knows = f"promised {promised}  committed {committed}"
                yield f"       voter {v}  {knows}  {journal(int(held), kinds)}{disk}"
            case ["owner", f, held, knows] if int(held):
                yield f"       owner {f}  knows {knows} as committed    {journal(int(held), kinds)}"
            case _:
                pass  # what spin says of itself
