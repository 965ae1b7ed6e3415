"""Which acts there are: what each is called, who plays, what is done to whom.

A table. What is measured and judged stands with the acts. It prevents acts that nobody can ask for one by one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from examples.demo import act_census, act_writer
from examples.demo.act_census import Pages
from examples.demo.cast import DESTROY, DRAIN, KILL_AGENT, KILL_BOTH, Apart, Blow, Cast, enter
from examples.demo.stage import Stage
from examples.demo.takeover import Scene

NUMBERS: Final = (1, 2, 3, 4, 5, 6)
_PACE: Final = ("--pace", "0")


@dataclass(frozen=True, slots=True)
class Plan:
    """One act.

    Attributes:
        title, story: for people.
        blow: what is done to the side at work.
        enter: starts its processes.
        run: plays it.
    """

    title: str
    story: str
    blow: Blow
    enter: Callable[[Stage], Cast]
    run: Callable[[Scene], Awaitable[None]]


def programme(stage: Stage, numbers: Sequence[int], urls: Sequence[str] | None, most: int | None) -> list[Plan]:
    """The acts of these numbers, in order. Starts the page server, if one of them counts pages.

    Args:
        stage: where.
        numbers: of the acts.
        urls: see ``Pages``.
        most: see ``Pages``.
    """
    counting = set(numbers) - {2}
    plans = {2: Plan(act_writer.TITLE, act_writer.STORY, KILL_AGENT, act_writer.cast, act_writer.run)}
    if counting:
        server = stage.example("page server", "pages", "/urls", "--latency", str(act_census.LATENCY_S))
        plans |= _counting(Pages(server, urls, most))
    return [plans[number] for number in NUMBERS if number in numbers]


def _counting(pages: Pages) -> dict[int, Plan]:
    run = partial(act_census.run, pages=pages)

    def counting(group: str, *, gateway: bool = True, apart: Apart = "") -> Callable[[Stage], Cast]:
        return lambda stage: enter(stage, "census", group, *_PACE, gateway=gateway, apart=apart)

    return {
        1: Plan(
            "Act 1 — census: the agent keeps checkpoints and is killed at page 20",
            "An agent fetches web pages and writes a CSV. It is killed; another one goes on with the next page.",
            KILL_AGENT, counting("census", gateway=False), run,
        ),
        3: Plan(
            "Act 3 — the whole host: agent and sidecar are killed together at page 20",
            "The client is at a gateway. Nobody is left to say what happened; a freed lock says it to the others.",
            KILL_BOTH, counting("hosts"), run,
        ),
        4: Plan(
            "Act 4 — the drain: the sidecar at work is told to stop at page 20",
            "It hands the task over, tells its agent to stop, and exits. The client at the gateway sees nothing.",
            DRAIN, counting("drained"), run,
        ),
        5: Plan(
            "Act 5 — three hosts that share nothing: one is destroyed at page 20, with its disk",
            "The client is at a gateway on the third. Each host has a journal of its own; two of three go on.",
            DESTROY, counting("apart", apart="--peers"), run,
        ),
        6: Plan(
            "Act 6 — two hosts, a pair: the agent of host A is killed at page 20; host B has everything",
            "Each host keeps what the other one takes in. In the end the rest of host A goes, too, with its disk.",
            KILL_AGENT, counting("paired", gateway=False, apart="--pair"), run,
        ),
    }  # fmt: skip
