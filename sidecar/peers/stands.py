"""How far two hosts have come with their handoffs, as they tell each other.

Shapes only. The failure this prevents: an answer that grows with all that a host has ever kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from sidecar.peers.packing import Codec, Packed, Plain, Whole, as_it_is

Stand = tuple[str, int]
"""A task, and up to where its journal is known to be committed."""


Begun = tuple[int, str, int]
"""The same, with its number among those that a file has heard of."""


BEHIND_MAX = 1000
"""Of how many handoffs one ask says how they stand."""


class _Begun(Packed):
    number: Whole
    task: Plain
    committed: Whole


class _Stand(Packed):
    task: Plain
    committed: Whole


_Stands = Annotated[list[_Stand], Meta(max_length=BEHIND_MAX)]
_Tasks = Annotated[list[Plain], Meta(max_length=BEHIND_MAX)]


STANDS: Codec[Sequence[Stand]] = Codec(
    _Stands, as_it_is, lambda packed: [(each.task, each.committed) for each in packed]
)
BEGUN_ANSWER: Codec[Sequence[Begun]] = Codec(
    Annotated[list[_Begun], Meta(max_length=BEHIND_MAX)],
    as_it_is,
    lambda packed: [(each.number, each.task, each.committed) for each in packed],
)
BEHIND_ANSWER: Codec[list[str]] = Codec(_Tasks, as_it_is, as_it_is)
