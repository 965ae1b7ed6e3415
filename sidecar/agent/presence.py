"""Whether the agent is there, measured over and over.

Lives here: reading the agent card, and the loop that keeps ``ready`` true to life. The file must not send
messages to the agent. It prevents acting on an old idea of the agent: readiness is a level that is measured
again, not an event that can be missed, and a slow agent is not taken for a lost one.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import suppress

import aiohttp

from sidecar.agent.answers import FAULTS, decode, end_of, excerpt
from sidecar.agent.card import CardView, UnusableCard, read_card
from sidecar.agent.wire import AgentWire
from sidecar.errors import AgentError, AgentTimeout, AgentUnavailable
from sidecar.ports import EndKind, RunEnd
from sidecar.records import Json

log = logging.getLogger(__name__)

_CARD_BYTES_MAX = 2**20
_DOUBTFUL = frozenset({EndKind.REFUSED, EndKind.BROKEN})
_REREAD_GAP_S = 0.05
_SILENT = "the agent accepts connections but does not answer"


class AgentPresence:
    """The card of one agent, kept current.

    Args:
        wire: connections to the agent.
        on_ready: called when the card was read after the agent was absent, and when the card has changed.
        on_lost: called when a present agent refuses or breaks connections, or its card became unusable. Not
            called for an agent that is slow to answer: that is for probes and progress to judge.

    Attributes:
        card: the last card that was read, as it came; it stays when the agent is lost.
        ready: the card could be read when last tried.
        reason: why not, for people; "" when ready.
    """

    def __init__(
        self,
        wire: AgentWire,
        *,
        on_ready: Callable[[], None] | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self.card: Json | None = None
        self.ready = False
        self.reason = "the agent has not answered yet"
        self._wire = wire
        self._view: CardView | None = None
        self._told = ""
        self._etag: tuple[str, str] = ("", "")
        self._on_ready, self._on_lost = on_ready, on_lost
        self._doubt = asyncio.Event()
        self._reading = asyncio.Lock()

    @property
    def endpoint(self) -> str:
        """The agent's address, as journalled with a run."""
        return self._wire.address.origin + self._wire.address.prefix

    @property
    def streaming(self) -> bool:
        """Whether runs are streamed; False too while no card was read."""
        return self._view is not None and self._view.streaming

    @property
    def durable(self) -> bool:
        """Whether the agent declares the durability extension."""
        return self._view is not None and self._view.durable

    async def run_forever(self) -> None:
        """Keep ``card`` and ``ready`` true to life.

        An absent agent is tried again after growing, jittered delays; a present one every ``watch_s``, and at
        once when a request to it was refused or broke.
        """
        settings = self._wire.settings
        delay = settings.retry_min_s
        while True:
            self._doubt.clear()
            if await self.refresh():
                delay = settings.retry_min_s
                await asyncio.sleep(_REREAD_GAP_S)
                with suppress(TimeoutError):
                    async with asyncio.timeout(settings.watch_s):
                        await self._doubt.wait()
            else:
                await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311
                delay = min(delay * 2, settings.retry_max_s)

    async def refresh(self) -> bool:
        """Read the card now.

        Returns:
            ``ready``.
        """
        async with self._reading:
            try:
                async with asyncio.timeout(self._wire.settings.card_timeout_s):
                    card = await self._fetch()
                view = read_card(card)
            except TimeoutError:
                if not self.ready:
                    self._lose(_SILENT)
            except (AgentError, UnusableCard) as fault:
                self._lose(str(fault), type(fault).__name__)
            else:
                self._gain(card, view)
            return self.ready

    def noticed(self, end: RunEnd) -> None:
        """A request ended like this: look after the agent where it may be gone."""
        if end.kind in _DOUBTFUL:
            self._doubt.set()

    def hung(self) -> None:
        """It takes connections and answers nothing: it counts as lost until its card can be read again."""
        self._lose(_SILENT)
        self._doubt.set()

    def _gain(self, card: Json, view: CardView) -> None:
        news = not self.ready or card != self.card
        if not self.ready:
            log.info("the agent at %s answers%s", self.endpoint, " again" if self._view is not None else "")
        self._told = ""
        self.card, self._view, self.ready, self.reason = card, view, True, ""
        if news and self._on_ready is not None:
            self._on_ready()

    def _lose(self, reason: str, kind: str = "silent") -> None:
        lost, self.ready, self.reason = self.ready, False, reason
        if kind != self._told:  # not at every attempt
            self._told = kind
            log.warning(
                "no agent at %s: %s; new messages are handed to others of the group or refused until it answers",
                self.endpoint, reason,
            )  # fmt: skip
        if lost and self._on_lost is not None:
            self._on_lost()

    async def _fetch(self) -> Json:
        problem = ""
        for path in self._wire.address.card_paths():
            headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
            if self.card is not None and self._etag[0] == path:
                headers["If-None-Match"] = self._etag[1]
            try:
                async with self._wire.session.get(
                    self._wire.url(path), headers=headers, allow_redirects=False
                ) as response:
                    if response.status == 304 and self.card is not None:
                        return self.card
                    if response.status == 200:
                        card = await self._read(response)
                        self._etag = (
                            (path, response.headers.get("ETag", "")) if "ETag" in response.headers else ("", "")
                        )
                        return card
                    problem = problem or f"the agent answers {response.status} to a request for {path}"
                    if response.status != 404:
                        break
            except aiohttp.ConnectionTimeoutError as fault:
                raise AgentTimeout(f"no connection to the agent in time: {fault}") from fault
            except FAULTS as fault:
                end = end_of(fault)
                what = "" if end.kind is EndKind.REFUSED else "the agent's card cannot be read: "
                raise AgentUnavailable(f"{what}{end.detail}") from fault
        raise AgentError(problem)

    async def _read(self, response: aiohttp.ClientResponse) -> Json:
        body = bytearray()
        while chunk := await response.content.readany():
            body += chunk
            if len(body) > _CARD_BYTES_MAX:
                raise AgentError(f"the agent's card is larger than {_CARD_BYTES_MAX} bytes")
        card = decode(bytes(body))
        if not isinstance(card, dict):
            detail = card.detail if isinstance(card, RunEnd) else f"not a JSON object: {excerpt(bytes(body))}"
            raise UnusableCard(f"the agent's card: {detail}")
        return card
