"""The one table of options: every setting, its default, its formula and what either direction costs.

The dataclasses below *are* the table: flags, ``DHP_SIDECAR_*`` variables, keys of the TOML file, ``--help`` and
the README's list all come from it. Flag over variable over file over default. Nothing else of the product reads
the environment. The failure it prevents: two places that disagree about what a setting is called or defaults to.
"""

from __future__ import annotations

import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sidecar.errors import ConfigError, StoreError
from sidecar.options import Option, build, from_env, from_file, from_flags, is_loopback, option, table

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


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of one sidecar, checked. Made by ``load``."""

    agent: AgentOptions = field(default_factory=AgentOptions)
    host: str = option("127.0.0.1", "address to listen on, for clients and for control", flag="--host")
    port: int = option(8470, "port for A2A clients; 0 takes a free one", flag="--port", shape="port")
    public_url: str = option(
        "", "address that clients use, written into the card", flag="--public-url", shape="url",
        shown="http://HOST:PORT"
    )
    gateway: bool = option(
        False, "serve the group without an agent: its other sidecars run the tasks", flag="--gateway"
    )
    name: str = option(
        "", "this sidecar's name; a newer start under one name replaces the older", flag="--name",
        shown="random, kept beside the store for this port"
    )
    group: str = option(
        "", "sidecars of one group take over each other's tasks; a gateway needs it where the store has several",
        flag="--group", shown="the agent card's name"
    )
    store: str = option(
        "", "where the journals are", flag="--store", shape="store",
        shown="sqlite:///$XDG_STATE_HOME/dhp-sidecar/journal.db"
    )
    control_port: int = option(
        8472, "port of /healthz, /readyz and /metrics; 0 is off", flag="--control-port", shape="port"
    )
    config: str = option("", "TOML file with any of these options", flag="--config", shown="none", in_file=False)
    insecure: bool = option(
        False, "listen beyond this machine although nothing authenticates callers", flag="--insecure"
    )
    drain_s: float = option(
        25, "how long a stopping sidecar lets its tasks end before it hands them over", unit="s",
        less="more tasks move at each stop", more="stops take longer; keep it below the supervisor's kill timeout"
    )
    log: LogOptions = field(default_factory=LogOptions)
    lease: LeaseOptions = field(default_factory=LeaseOptions)
    takeover: TakeoverOptions = field(default_factory=TakeoverOptions)
    front: FrontOptions = field(default_factory=FrontOptions)
    journal: JournalOptions = field(default_factory=JournalOptions)

    @property
    def store_path(self) -> Path:
        """The store's file."""
        return Path(self.store.removeprefix("sqlite:///"))


# fmt: on
OPTIONS: tuple[Option, ...] = table(Config)


def load(flags: Mapping[str, str], env: Mapping[str, str]) -> Config:
    """The configuration from flags, environment and the file that one of them names.

    Args:
        flags: dotted option names and the text given on the command line.
        env: the environment; only ``DHP_SIDECAR_*``, ``XDG_STATE_HOME``, ``HOME`` and ``NO_COLOR`` count.

    Raises:
        ConfigError: an unknown name, a value that does not fit, or a file that cannot be read.
    """
    said = {**from_env(OPTIONS, env), **from_flags(OPTIONS, flags)}
    path = str(said.get("config", ""))
    content = read_toml(Path(path)) if path else {}
    found: dict[str, Any] = {"store": default_store(env)}
    if env.get("NO_COLOR"):
        found["log.colour"] = "never"
    values = {**found, **from_file(OPTIONS, content, path), **said}
    return _checked(build(Config, values))


def default_store(env: Mapping[str, str]) -> str:
    """The store's address where nobody gives one (XDG base directories; a relative value is to be ignored)."""
    state = env.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path(env.get("HOME") or "/var/lib") / ".local/state"
    return f"sqlite:///{base / 'dhp-sidecar' / 'journal.db'}"


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a configuration file.

    Raises:
        ConfigError: it cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error


def ready_to_run(config: Config) -> Config:
    """The configuration of a sidecar that is about to listen; its name is filled in.

    Raises:
        ConfigError: no agent is named, or the listener would be open to others without anyone saying so.
    """
    if config.gateway and config.agent.url:
        raise ConfigError("a gateway has no agent", "leave out --gateway or --agent")
    if not config.gateway and not config.agent.url:
        raise ConfigError(
            "no agent is named", "give --agent http://HOST:PORT or set DHP_SIDECAR_AGENT; --gateway needs none"
        )
    if not is_loopback(config.host) and not config.insecure:
        raise ConfigError(
            f"host {config.host} is reachable from other machines and nothing authenticates callers",
            "listen on 127.0.0.1, or say --insecure where the network is trusted",
        )
    if config.host in ("0.0.0.0", "::", "[::]") and not config.public_url:  # noqa: S104 - compared, not bound
        raise ConfigError(f"clients cannot call {config.host}", "give --public-url, the address that they use")
    if urlsplit(config.agent.url).netloc == f"{config.host}:{config.port}":
        raise ConfigError(f"{config.agent.url} is this sidecar's own address", "give the agent another port")
    return config if config.name else replace(config, name=kept_name(config.store_path, config.port))


def kept_name(store: Path, port: int) -> str:
    """A random name, kept in a file beside the store.

    The file is per port: two sidecars on one store must not share a name, or the newer would replace the older. A
    free port (0) says nothing about which sidecar this is, so nothing is kept for it.

    Raises:
        StoreError: the store's directory cannot be used. ConfigError: the file holds no text.
    """
    fresh, path = f"sidecar-{secrets.token_hex(4)}", store.with_name(f"{store.name}-{port}.name")
    if port == 0:
        return fresh
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = path.read_text(encoding="utf-8").strip() if path.exists() else ""
        if not kept:
            path.touch(mode=0o600)
            path.write_text(fresh, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"the directory of the store {store} cannot be used: {error}",
            "give this user the right to write there, or give another --store",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} holds no name: {error}", "delete it, or give --name") from error
    return kept or fresh


def _checked(config: Config) -> Config:
    if config.lease.margin_ms * 2 >= config.lease.ttl_ms:
        raise ConfigError(
            f"lease.margin_ms {config.lease.margin_ms} leaves nothing of lease.ttl_ms {config.lease.ttl_ms}",
            "the margin must be less than half of the ttl",
        )
    if config.control_port and config.control_port == config.port:
        raise ConfigError(f"port and control_port are both {config.port}", "give --control-port another one, or 0")
    return config
