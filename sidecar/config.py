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
from typing import Any
from urllib.parse import urlsplit

from sidecar.errors import ConfigError, StoreError
from sidecar.options import Option, build, from_env, from_file, from_flags, is_loopback, option, table
from sidecar.sections import (
    AgentOptions,
    FrontOptions,
    JournalOptions,
    LeaseOptions,
    LogOptions,
    TakeoverOptions,
)

SECRET_LEAST = 16

# A table reads best as one.
# fmt: off


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
        8472, "port of /healthz, /readyz, /metrics and /cluster; 0 is off", flag="--control-port", shape="port"
    )
    peers: str = option(
        "", "this cluster's voters, by the addresses of their peer ports and with commas between them; every one "
        "of them is told the same", flag="--peers", shape="urls", shown="none: the journals are in the store alone"
    )
    pair: str = option(
        "", "two hosts instead of voters: the addresses of both peer ports with a comma between them, "
        "told to both; each keeps what the other one takes in", flag="--pair", shape="urls", shown="none"
    )
    join: str = option(
        "", "the same list, for a gateway or a standby that belongs to the cluster and has no vote: it keeps no "
        "journal and reads at the voters", flag="--join", shape="urls", shown="none"
    )
    peer_port: int = option(
        8473, "port that other sidecars of the cluster use; 0 takes a free one", flag="--peer-port", shape="port"
    )
    peer_host: str = option(
        "", "address to listen on for peers", flag="--peer-host",
        shown="127.0.0.1 where all peers are on this machine, else 0.0.0.0"
    )
    cluster_secret: str = option(
        "", "what all sidecars of the cluster know and nobody else; better given as a file", in_file=False,
        secret=True
    )
    cluster_secret_file: str = option("", "file with the cluster's secret", flag="--cluster-secret-file")
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

    @property
    def peer_urls(self) -> tuple[str, ...]:
        """The configured peers, this sidecar perhaps among them; with ``join`` it is not."""
        named = self.peers or self.pair or self.join
        return tuple(named.split(",")) if named else ()


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
    config = replace(config, name=config.name or kept_name(config.store_path, config.port))
    return _ready_for_peers(config) if config.peer_urls else config


def _ready_for_peers(config: Config) -> Config:
    local = all(is_loopback(urlsplit(url).hostname or "") for url in config.peer_urls)
    secret = config.cluster_secret
    if config.cluster_secret_file:
        if secret:
            raise ConfigError("the cluster's secret is given twice", "leave out the variable or the file")
        try:
            secret = Path(config.cluster_secret_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"the cluster's secret cannot be read: {error}") from error
    if not secret and not local:
        raise ConfigError(
            "some peers are on other machines and nothing would authenticate them",
            "give every sidecar the same secret: DHP_SIDECAR_CLUSTER_SECRET_FILE or DHP_SIDECAR_CLUSTER_SECRET",
        )
    if secret and len(secret) < SECRET_LEAST:
        raise ConfigError(
            f"the cluster's secret has {len(secret)} characters, at least {SECRET_LEAST} are needed",
            "make one with: head -c 32 /dev/urandom | base64",
        )
    host = config.peer_host or ("127.0.0.1" if local else "0.0.0.0")  # noqa: S104 - authenticated
    if not secret and not is_loopback(host):
        raise ConfigError(f"peer_host {host} is reachable from other machines and there is no cluster secret")
    return replace(config, cluster_secret=secret, peer_host=host)


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
    if config.join and (config.peers or config.pair):
        raise ConfigError(
            f"--{'peers' if config.peers else 'pair'} and --join are both given: a sidecar has a vote or has none",
            "leave out --join where this sidecar is one of the addresses, and the other where it is not",
        )
    if config.peers and config.pair:
        raise ConfigError("--peers and --pair are both given", "three hosts or more need --peers, two need --pair")
    if config.pair and len(config.peer_urls) != 2:
        raise ConfigError(
            f"--pair names {len(config.peer_urls)} addresses",
            "name both hosts' peer ports, with a comma between them; three hosts or more need --peers",
        )
    if config.peer_urls and config.peer_port and config.peer_port in (config.port, config.control_port):
        raise ConfigError(
            f"peer_port {config.peer_port} is another port of this sidecar", "give --peer-port another"
        )
    return config
