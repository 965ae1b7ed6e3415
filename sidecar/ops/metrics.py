"""Metrics: the names that the rest of the sidecar counts and times under, as Prometheus shows them.

Every name stands in ``METRICS``; the rest of the sidecar knows only the ``Observer`` protocol. Names follow the
Prometheus conventions (``dhp_sidecar_``, base units, ``_total``). The failure it prevents: a dashboard that shows
nothing because one call was misspelt: tests build the observer strict, so that an unknown name fails there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

import sidecar

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "dhp_sidecar_"
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
log = logging.getLogger(__name__)


class Metric(NamedTuple):
    """One name.

    Attributes:
        name: as ``Observer.count`` and ``Observer.observe`` get it.
        text: what it counts or times.
        labels: names of its labels; each must have few values (never a task id).
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()


COUNTERS: tuple[Metric, ...] = (
    Metric(
        "requests",
        "requests of clients, by A2A method and outcome (ok, or the error's name)",
        ("method", "outcome"),
    ),
    Metric("passed_through", "requests that are not A2A and went to the agent as they came"),
    Metric("streams_opened", "event streams opened towards clients"),
    Metric("keep_alives", "comments and blanks sent into silent responses"),
    Metric("events_shown", "events written to clients"),
    Metric("tasks_accepted", "messages that became a handoff"),
    Metric("sends_attached", "repeated messages that joined their unanswered first"),
    Metric("tasks_ended", "handoffs that reached a terminal, by kind", ("kind",)),
    Metric("entries", "journal entries committed"),
    Metric("commits", "transactions committed by the store's writer"),
    Metric("claims", "claims made, by reason and answer", ("reason", "answer")),
    Metric("takeovers", "handoffs continued from another owner, by reason", ("reason",)),
    Metric("reattached", "living runs found again instead of run again"),
    Metric("runs", "requests that started or resumed a run at the agent", ("start",)),
    Metric("run_ends", "how requests to the agent ended (ports.EndKind)", ("end",)),
    Metric("rewinds", "shown output that a re-run replaced"),
    Metric("events_matched", "events of a re-run that repeated what was shown"),
    Metric("events_dropped", "agent events that were not journalled, by reason", ("reason",)),
    Metric("events_after_terminal", "agent events that came after the end of their task"),
    Metric("reviews", "handoffs that wait for an operator, by reason", ("reason",)),
    Metric("probes", "probes of the agent, by what they showed", ("answer",)),
    Metric("renewals", "renewals of the session lease, by answer", ("answer",)),
    Metric("fenced", "handoffs lost to another session's claim"),
    Metric("writes_refused", "entries that a voter refused"),
    Metric("store_outages", "times the store could not be written"),
    Metric("store_failures", "store calls that failed, by error code", ("code",)),
)
TIMES: tuple[Metric, ...] = (
    Metric("request", "a client's request until its response began", ("method",)),
    Metric("accept", "a client's message until it was journalled"),
    Metric("commit", "one transaction of the store's writer, disk write included"),
    Metric("append", "an append until it was durable, queueing included"),
    Metric("first_event", "an accepted message until its first event was durable"),
    Metric("orphan_to_claim", "an orphan's release until its next owner's claim was committed"),
    Metric("orphan_to_run", "an orphan's release until the next agent had the resumed message"),
    Metric("agent_connect", "a connection to the agent"),
    Metric("probe", "an answered probe of the agent"),
)


class Metrics:
    """An ``Observer`` that keeps everything in a registry of its own.

    Args:
        strict: raise on an unknown name or label instead of logging it once.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.registry = CollectorRegistry()
        self._strict = strict
        self._told: set[str] = set()
        self._counters = {
            name: Counter(f"{PREFIX}{name}_total", text, labels, registry=self.registry)
            for name, text, labels in COUNTERS
        }
        self._times = {
            name: Histogram(f"{PREFIX}{name}_seconds", text, labels, buckets=_BUCKETS_S, registry=self.registry)
            for name, text, labels in TIMES
        }
        built = Gauge(f"{PREFIX}build_info", "1, labelled with the release", ("version",), registry=self.registry)
        built.labels(sidecar.__version__).set(1)

    def count(self, name: str, value: int = 1, **labels: str) -> None:
        """Add to a counter."""
        try:
            counter = self._counters[name]
            (counter.labels(**labels) if labels else counter).inc(value)
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
