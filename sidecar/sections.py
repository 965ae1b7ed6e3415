"""The sections of the table of options: those that belong to one part of the sidecar.

Data, read by ``config`` like the options that stand alone there. This file must not check or read anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sidecar.options import option

MIB = 1 << 20

# A table reads best as one.
# fmt: off


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """The agent beside this sidecar."""

    url: str = option(
        "", "address of the agent beside this sidecar", flag="--agent", alias="agent", shape="url",
        shown="required"
    )
    progress_limit_s: float = option(
        1800, "a run that answers probes but shows nothing for this long goes to review", unit="s", at_least=1,
        less="slow but healthy runs are stopped", more="a stuck run is noticed later"
    )
    event_bytes_max: int = option(
        16 * MIB, "largest single event taken from the agent; memory a stream <= 2 x this", unit="bytes",
        at_least=1024, less="large artifacts fail", more="one bad agent takes more memory"
    )
    connect_timeout_s: float = option(
        2, "how long a connection to the agent may take", unit="s", at_least=0.05, less="a busy host looks dead",
        more="a dead host is noticed later"
    )
    probe_timeout_s: float = option(
        1, "how long the agent may take to answer a probe", unit="s", at_least=0.05,
        less="a busy agent looks silent", more="its silence is noticed later"
    )
    hang_limit_s: float = option(
        240, "an agent that answers no probe and shows nothing for this long is taken for dead; tools that block "
        "their agent are known to take minutes", unit="s", at_least=0.1,
        less="an agent that blocks in a long call is run twice", more="a stopped agent is replaced later"
    )
    absent_timeout_s: float = option(
        4, "how long a new message waits for an absent agent before its client is told", unit="s", at_least=0.1,
        less="a restart of the agent is seen by clients", more="clients with a 5 s limit give up first"
    )
    poll_interval_ms: int = option(
        500, "pause between GetTask calls where the agent cannot stream", unit="ms", at_least=10,
        less="more load on the agent", more="events arrive later"
    )


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What the process says about itself."""

    format: Literal["auto", "json", "text"] = option(
        "auto", "auto is text on a terminal, JSON elsewhere", flag="--log-format"
    )
    level: Literal["debug", "info", "warning", "error"] = option(
        "info", "the least important lines that are written", flag="--log-level"
    )
    colour: Literal["auto", "never"] = option(
        "auto", "auto colours text on a terminal; NO_COLOR=1 means never"
    )


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """How long a silent sidecar counts as alive."""

    ttl_ms: int = option(
        3000, "life of a session lease, renewed every ttl / 4; a hung owner is replaced after ttl + margin",
        unit="ms", at_least=200, less="a pause of the host costs a takeover",
        more="a hung sidecar is noticed later"
    )
    margin_ms: int = option(
        300, "the owner stops at ttl - margin, others wait for ttl + margin", unit="ms", at_least=10,
        less="a slow clock wastes a takeover", more="the owner stops writing earlier"
    )


@dataclass(frozen=True, slots=True)
class TakeoverOptions:
    """Who continues an orphan, and when."""

    attempts_max: int = option(
        5, "runs of one task, over all owners, before it becomes a dead letter", at_least=1,
        less="a short outage ends tasks", more="a task that kills agents kills more of them"
    )
    stagger_ms: int = option(
        200, "the n-th ranked standby waits n x this", unit="ms",
        less="standbys claim at once and lose to each other", more="slower when the first does not move"
    )
    refused_is_dead: bool = option(
        False, "a refused connection proves death: only where addresses are never reused"
    )


@dataclass(frozen=True, slots=True)
class FrontOptions:
    """What clients see."""

    keep_alive_s: float = option(
        2, "silence on a stream before a comment is sent; stock clients give up after 5 s", unit="s",
        at_least=0.05, less="more bytes on idle streams", more="clients give up during a takeover"
    )
    request_bytes_max: int = option(
        64 * MIB, "largest request body", unit="bytes", at_least=1024, less="large inputs are refused",
        more="one client takes more memory"
    )


@dataclass(frozen=True, slots=True)
class JournalOptions:
    """What is kept, and for how long it counts."""

    idempotency_window_s: float = option(
        600, "how long a repeated messageId is the same message for clients with the durability extension",
        unit="s", less="late retries run again", more="ids must stay unique for longer"
    )
    unacknowledged_s: float = option(
        60, "a dispatch that no client has seen fails after this", unit="s", at_least=1,
        less="work is dropped while a client retries", more="work runs that nobody waits for"
    )
    buffered_bytes_max: int = option(
        16 * MIB, "output of one task that is held while the journal cannot be written", unit="bytes",
        at_least=1024, less="runs stop sooner during an outage", more="memory: this x running tasks"
    )
