"""Metrics: the names that the rest of the sidecar counts and times under, as Prometheus shows them.

Every name stands in ``METRICS``; the rest of the sidecar knows only the ``Observer`` protocol. Names follow the
Prometheus conventions (``dhp_sidecar_``, base units, ``_total``). The failure it prevents: a dashboard that shows
nothing because one call was misspelt: tests build the observer strict, so that an unknown name fails there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

import sidecar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "dhp_sidecar_"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
log = logging.getLogger(__name__)


class Metric(NamedTuple):
    """One name.

    Attributes:
        name: as ``Observer.count`` and ``Observer.observe`` get it; ``front.requests`` is shown as
            ``dhp_sidecar_front_requests_total``.
        text: what it counts or times.
        labels: names of its labels; each must have few values (never a task id).
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()


COUNTERS: tuple[Metric, ...] = (
    Metric("front.requests", "requests of clients, by A2A method (none: not even JSON-RPC)", ("method",)),
    Metric("front.answers", "answers to single requests, by how they ended", ("outcome",)),
    Metric("front.streams", "event streams towards clients, by how they ended", ("outcome",)),
    Metric("front.errors", "faults that clients were told, by kind", ("kind",)),
    Metric("front.stale", "answers that were marked stale: the session had lapsed when they were read"),
    Metric("events_after_terminal", "agent events that came after the end of their task"),
    Metric("events_dropped", "agent events that were not journalled, by reason", ("reason",)),
    Metric("orphaned", "handoffs released by their owner, by reason", ("reason",)),
    Metric("takeovers", "handoffs claimed that were then run, by what had shown that they could be", ("reason",)),
    Metric("resumed", "runs begun again, from a checkpoint or from the start", ("cut",)),
    Metric("reviews", "handoffs that wait for an operator, by reason", ("reason",)),
    Metric("dead_letters", "handoffs that failed because their attempts were used up"),
    Metric("owner_failures", "faults of this program while it drove a task"),
    Metric("recovery_failures", "faults of this program while it recovered a task"),
    Metric("sweep_failures", "sweeps of the supervisor that failed"),
    Metric("claimed_anew", "handoffs that their owner claimed again: a voter had promised them to another"),
    Metric("renewal_failures", "renewals of the session lease that failed"),
    Metric("writes_refused", "entries that the voter refused: another session owns the handoff"),
    Metric("store_outages", "times the store could not be written"),
    Metric("peers.connected", "connections to peers that were made"),
    Metric(
        "peers.refused", "connections between sidecars that were refused, by who dialled and why", ("side", "code")
    ),
    Metric("peers.malformed", "messages of peers that were not what they should be, by what was wrong", ("code",)),
    Metric(
        "peers.unfit", "asks of peers for another voter, by another member list or of another cluster", ("code",)
    ),
    Metric("peers.busy", "asks of peers that were put off because too much was unanswered"),
)
TIMES: tuple[Metric, ...] = (
    Metric("append", "an append until it was durable, queueing included"),
    Metric("takeover", "an orphan seen until its next run was asked for"),
)


def shown(name: str) -> str:
    """A name as Prometheus allows it."""
    return name.replace(".", "_")


class Metrics:
    """An ``Observer`` that keeps everything in a registry of its own.

    Args:
        strict: raise on an unknown name or label instead of logging it once.
    """

    def __init__(self, *, strict: bool = False) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # a second sample for each, that nobody reads
        self.registry = CollectorRegistry()
        self._strict = strict
        self._told: set[str] = set()
        self._seen: dict[tuple[object, ...], Counter] = {}  # looking a child up costs more than counting
        self._counters = {
            name: Counter(f"{PREFIX}{shown(name)}_total", text, labels, registry=self.registry)
            for name, text, labels in COUNTERS
        }
        self._times = {
            name: Histogram(
                f"{PREFIX}{shown(name)}_seconds", text, labels, buckets=_BUCKETS_S, registry=self.registry
            )
            for name, text, labels in TIMES
        }
        built = Gauge(f"{PREFIX}build_info", "1, labelled with the release", ("version",), registry=self.registry)
        built.labels(sidecar.__version__).set(1)

    def count(self, name: str, value: int = 1, **labels: str) -> None:
        """Add to a counter."""
        try:
            key = (name, *labels.items())
            counter = self._seen.get(key)
            if counter is None:
                counter = self._counters[name]
                counter = self._seen[key] = counter.labels(**labels) if labels else counter
            counter.inc(value)
        except (KeyError, ValueError) as error:
            self._unknown(name, error)

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add a duration to a histogram."""
        try:
            histogram = self._times[name]
            (histogram.labels(**labels) if labels else histogram).observe(seconds)
        except (KeyError, ValueError) as error:
            self._unknown(name, error)

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a gauge that is asked for at every scrape, as ``dhp_sidecar_<name>``."""
        Gauge(f"{PREFIX}{name}", text, registry=self.registry).set_function(value)

    def page(self) -> bytes:
        """Everything in the text format that ``CONTENT_TYPE`` names."""
        return generate_latest(self.registry)

    def value(self, sample: str, **labels: str) -> float:
        """One sample by its full name, 0 where it was never touched: for tests and the demo."""
        return self.registry.get_sample_value(sample, labels) or 0.0

    def _unknown(self, name: str, error: Exception) -> None:
        if self._strict:
            raise LookupError(f"metric {name}: {error}") from error
        if name not in self._told:
            self._told.add(name)
            log.warning("metric %s is not declared, or its labels are others: %s", name, error)
