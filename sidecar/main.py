"""The composition root: the only place that wires adapters together.

Nothing is decided here. Reading ``Sidecar.__init__`` from top to bottom shows what plugs in where.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import uvloop

from bridge.jsontext import parse
from sidecar.agent import AgentSettings, GroupLink, GroupView, HttpAgentLink
from sidecar.agent.gate import AgentGate
from sidecar.config import Config
from sidecar.errors import StoreError
from sidecar.front import Front, FrontSettings
from sidecar.listen import Server, bind, server
from sidecar.ops.control import control_app
from sidecar.ops.logs import configure
from sidecar.ops.metrics import Metrics
from sidecar.peers.cluster import Cluster
from sidecar.peers.opening import opened
from sidecar.runtime.asides import Asides
from sidecar.runtime.cards import Cards, of_group
from sidecar.runtime.clock import HostClock
from sidecar.runtime.hangs import HangWatch
from sidecar.runtime.hub import Hub
from sidecar.runtime.membership import Membership
from sidecar.runtime.node import Node
from sidecar.runtime.ownership import Ownership
from sidecar.runtime.storewatch import StoreWatch
from sidecar.runtime.supervisor import Supervisor
from sidecar.runtime.tasks import RuntimeTasks
from sidecar.store import Session, Store

log = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.0005
COLLECT_AFTER = (20_000, 20, 50)
"""Allocations before the cyclic collector looks. A streamed event makes a dozen containers and no cycle: at the
interpreter's 700, a quarter of a stream's time went into looking through folds that are in use."""

DRAIN_LOOK_S = 0.05
LAST_WORDS_S = 1.0
CLOSE_PART_S = 5.0


class Sidecar:
    """One sidecar, wired.

    Args:
        config: its settings, complete.
        store: an open store.
        session: registered in it.
        metrics: what it counts.
        cluster: the peers, if it has any.
    """

    def __init__(
        self, config: Config, store: Store, session: Session, metrics: Metrics, cluster: Cluster | None = None
    ) -> None:
        self.store, self.session, self.metrics, self.cluster = store, session, metrics, cluster
        self.link = self._link(config)
        hub = Hub(store.tailed, store.watch)
        self.node = Node(
            config, config.name, session.session, store, self.link, hub, HostClock(), self.metrics, config.group
        )
        self.cards = Cards(self.node)
        self.ownership = Ownership(self.node)
        self.membership = Membership(self.node, session, self.ownership)
        self.supervisor = Supervisor(self.node, self.ownership)
        self.hang_watch = HangWatch(self.node, self.ownership)
        self.store_watch = StoreWatch(store.attempt)
        self.tasks = RuntimeTasks(self.node, self.ownership, self.membership)
        self.front = Front(
            self.tasks,
            AgentGate(self.link),
            FrontSettings(
                public_url=config.public_url,
                keep_alive_s=config.front.keep_alive_s,
                request_bytes_max=config.front.request_bytes_max,
                absent_s=config.agent.absent_timeout_s,
            ),
            self.metrics,
        )
        told = "transactions of this process that are on disk; each is one fsync"
        self.metrics.watch("store_commits", told, lambda: store.writer.commits)
        for gauge in cluster.report.gauges() if cluster is not None else ():
            self.metrics.watch(*gauge)
        self._asides = Asides()
        store.on_change(self._store_changed)
        store.sessions.on_death(self.node.kick.set)

    def _link(self, config: Config) -> HttpAgentLink | GroupLink:
        settings = AgentSettings(
            connect_timeout_s=config.agent.connect_timeout_s,
            probe_timeout_s=config.agent.probe_timeout_s,
            event_bytes_max=config.agent.event_bytes_max,
            poll_max_s=config.agent.poll_interval_ms / 1000,
        )
        if config.gateway:
            return GroupLink(self._look_at_group, settings, self._agent_changed)
        changed = self._agent_changed
        return HttpAgentLink(config.agent.url, settings, on_ready=changed, on_lost=changed)

    def reasons_not_ready(self) -> list[str]:
        """Why no client should be sent here (``ops.control.Health``)."""
        reasons = []
        if self.link.reason:
            reasons.append(f"no agent: {self.link.reason}")
        elif (problem := self.front.problem) is not None:
            reasons.append(problem)
        if self.node.draining:
            reasons.append("draining")
        if self.membership.superseded:
            reasons.append(f"another sidecar named {self.node.name} has started: stop one of them")
        elif self.membership.problem or self.membership.lapsed:
            reasons.append(f"the session cannot be renewed: {self.membership.problem or 'lapsed'}")
        if self.cluster is not None and self.cluster.problem:
            reasons.append(f"the cluster takes no work here: {self.cluster.problem}")
        if self.store_watch.problem:
            reasons.append(f"the store cannot be written: {self.store_watch.problem}")
        return reasons

    async def drain(self) -> None:
        """Take no new work; hand over what runs as soon as somebody can take it; let clients read on meanwhile.

        Where nobody can, what runs here runs on: its clients are told how it ended, if that is in time. Whatever
        is left then belongs to the next sidecar that starts, which finds the run that is alive.
        """
        node = self.node
        node.draining = True
        self.membership.renew_now()
        with suppress(TimeoutError):
            async with asyncio.timeout(node.config.drain_s):
                while await self._drains():  # noqa: ASYNC110 - looks at the store, too
                    await asyncio.sleep(DRAIN_LOOK_S)
                async with asyncio.timeout(LAST_WORDS_S):  # of what has ended; nothing else ends any more
                    while self.front.open_responses:  # noqa: ASYNC110 - they end by themselves
                        await asyncio.sleep(DRAIN_LOOK_S)
        if self.front.open_responses:
            log.warning("the drain is over: %d responses are cut", self.front.open_responses)

    async def _drains(self) -> bool:
        """One look: hand over what can be; whether there is anything left to wait for."""
        node, ownership = self.node, self.ownership
        try:
            if not node.superseded:
                if not await node.others_ready():
                    return node.link.ready and any(each.working for each in ownership.owners.values())
                await ownership.release_all("drain")
        except StoreError as error:
            log.warning("handing over failed and will be tried again: %s", error)
            return True
        return self.front.open_responses > 0

    async def _look_at_group(self) -> GroupView:
        """What a gateway needs: its group (the only one there is, where none was named), card, a way in."""
        node = self.node
        others = [row for row in await node.living() if row.group and row.session != node.session]
        groups, problem = {row.group for row in others}, ""
        if not node.config.group and node.group not in groups:
            # Nobody of the group lives: those that were here before tell as much as is needed for reads.
            known = groups or ({node.group} if node.group else await self.store.kept_names(of_group("")))
            node.group = min(known) if len(known) == 1 else node.group
            if len(known) > 1 and not node.group:
                problem = f"the store has several groups ({', '.join(sorted(known))}): give --group"
        card = await self.store.kept(of_group(node.group)) if node.group else None
        ready = sorted(row.url for row in others if row.group == node.group and row.ready and not row.draining)
        return GroupView(parse(card) if card else None, ready[0] if ready else "", problem)

    def _agent_changed(self) -> None:
        self.cards.was_read()
        if self.link.ready:
            self._asides.start(self.cards.keep())
        self.membership.renew_now()
        self.supervisor.look_at_all()

    def _store_changed(self, tasks: frozenset[str] | None, urgent: bool) -> None:
        self.node.hub.poke(tasks)
        if urgent:
            self.node.kick.set()


async def serve(config: Config) -> int:
    """Run until SIGTERM or SIGINT.

    Returns:
        The process's exit status.
    """
    log.info("sidecar %s is starting, store %s", config.name, config.store)
    listener = bind(config.host, config.port, "the A2A side")
    control = bind(config.host, config.control_port, "the control side") if config.control_port else None
    port = listener.getsockname()[1]
    config = replace(config, port=port, public_url=config.public_url or f"http://{config.host}:{port}")
    metrics = Metrics()
    peers = bind(config.peer_host, config.peer_port, "the peer side") if config.peer_urls else None
    store, session, cluster = await opened(config, metrics, HostClock(), peers)
    configure(config.log, sidecar=config.name, session=session.session)
    sidecar = Sidecar(config, store, session, metrics, cluster)
    await sidecar.cards.recall()
    servers = [(server(sidecar.front), listener)]
    if control is not None:
        servers.append((server(control_app(sidecar, metrics, cluster.report.made if cluster else None)), control))
    loop = asyncio.get_running_loop()
    stop, at_once = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _told, stop, at_once)
    work = [
        loop.create_task(each)
        for each in (
            sidecar.link.run_forever(), sidecar.membership.run_forever(), sidecar.supervisor.run_forever(),
            sidecar.store_watch.run_forever(), sidecar.hang_watch.run_forever(),
            *((cluster.run(sidecar.supervisor.mail.brought, sidecar.supervisor.learn),) if cluster else ()),
            *(each.serve([socket]) for each, socket in servers),
        )
    ]  # fmt: skip
    group = f"group {config.group}" if config.group else "the only group of the store"
    log.info(
        "sidecar %s serves %s for %s", config.name, config.public_url,
        f"the agent at {config.agent.url}" if config.agent.url else f"{group}, as a gateway",
        extra={"session": session.session, "port": port, "group": config.group or "found by itself",
               "control_port": control.getsockname()[1] if control else "off"},
    )  # fmt: skip
    stopped = loop.create_task(stop.wait())
    done, _ = await asyncio.wait([*work, stopped], return_when=asyncio.FIRST_COMPLETED)
    failed = [task for task in done if task is not stopped and not task.cancelled() and task.exception()]
    for task in failed:
        log.critical("a part of the sidecar failed; it stops", exc_info=task.exception())
    if not failed:
        await _unless(at_once, sidecar.drain())
    await _close(sidecar, [each for each, _ in servers], work, at_once=at_once.is_set())
    log.info("sidecar %s stopped", config.name, extra={"session": session.session})
    return 1 if failed else 0


async def _close(
    sidecar: Sidecar, servers: Sequence[Server], work: Sequence[asyncio.Task[None]], *, at_once: bool
) -> None:
    """Let go of everything, in the order in which the parts need each other."""
    sidecar.front.drain()
    for each in servers:
        each.should_exit = True
        each.force_exit = at_once
    patience_s = 0 if at_once else CLOSE_PART_S
    await asyncio.wait(work[-len(servers) :], timeout=CLOSE_PART_S)
    for task in work:
        task.cancel()
    await asyncio.gather(*work, return_exceptions=True)
    with suppress(TimeoutError):
        async with asyncio.timeout(patience_s):
            await sidecar.front.close()
    await sidecar.ownership.close()
    try:
        await sidecar.store.sessions.release(sidecar.session)
    except StoreError as error:
        log.warning("the session could not be released, the end of this process shows it: %s", error)
    if sidecar.cluster is not None:
        await sidecar.cluster.close()
    await sidecar.link.close()
    await sidecar.store.close()


def _told(stop: asyncio.Event, at_once: asyncio.Event) -> None:
    """A signal has come: the first one begins the drain, a later one ends it."""
    (at_once if stop.is_set() else stop).set()


async def _unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do something, and leave it when the event is set."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    for each in (working, waiting):
        each.cancel()
    said, _ = await asyncio.gather(working, waiting, return_exceptions=True)
    if isinstance(said, Exception):
        log.error("draining failed; it is left", exc_info=said)


def run(config: Config) -> int:
    """Start a sidecar and stay until it is told to stop; returns the exit status."""
    # The writer's thread gets its turn beside a busy event loop without waiting five milliseconds for it.
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()  # what was imported stays: it is not looked through again
    gc.set_threshold(*COLLECT_AFTER)
    configure(config.log, sidecar=config.name)
    return uvloop.run(serve(config))
