"""Options: where values come from, which wins, and what a person is told who got one wrong."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal, get_origin

import pytest

from sidecar.config import OPTIONS, Config, default_store, kept_name, load, ready_to_run
from sidecar.errors import ConfigError, StoreError
from sidecar.options import Option, nearest, parse

HOME = {"HOME": "/home/ada"}
AGENT = {"agent.url": "http://127.0.0.1:9000"}
BY_NAME = {row.name: row for row in OPTIONS}


def value_of(config: Any, name: str) -> Any:
    for part in name.split("."):
        config = getattr(config, part)
    return config


def sample(row: Option) -> tuple[str, Any]:
    """A text that fits the option and is not its default, and the value that it means."""
    if row.type is bool:
        return str(not row.default), not row.default
    if get_origin(row.type) is Literal:
        other = next(choice for choice in row.type.__args__ if choice != row.default)
        return other, other
    if row.type in (int, float):
        return str(row.default + 1), row.default + 1
    url = "https://agent.example:9000/a"
    text = {"url": url, "urls": f"{url},http://b:1", "store": "sqlite:///x.db"}.get(row.shape, "word")
    return text, text


def refusal(flags: dict[str, str] | None = None, env: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as found:
        ready_to_run(load(flags or {}, {**HOME, **(env or {})}))
    return str(found.value)


def test_every_option_has_the_default_that_its_row_says() -> None:
    config = load({}, HOME)
    for row in OPTIONS:
        if row.name != "store":
            assert value_of(config, row.name) == row.default
    assert dataclasses.is_dataclass(config)


@pytest.mark.parametrize("row", [row for row in OPTIONS if row.name != "config"], ids=lambda row: row.name)
def test_flag_over_variable_over_file_over_default(row: Option, tmp_path: Path) -> None:
    text, value = sample(row)
    file = tmp_path / "sidecar.toml"
    quoted = text.lower() if row.type is bool else text if row.type in (int, float) else f'"{text}"'
    file.write_text(f"{row.name} = {quoted}\n" if row.in_file else "")
    env = {**HOME, "DHP_SIDECAR_CONFIG": str(file)}
    assert value_of(load({}, env), row.name) == (value if row.in_file else row.default)
    if row.type is bool:
        env[row.env] = str(row.default)
        assert value_of(load({}, env), row.name) == row.default
        assert value_of(load({row.name: text}, env), row.name) == value
        return
    third = {
        "url": "http://c.example",
        "urls": "http://c.example,http://d.example",
        "store": "sqlite:///c.db",
    }.get(row.shape, "third")
    third = str(row.default + 5) if row.type in (int, float) else str(row.default or third)
    env[row.env] = third
    assert value_of(load({}, env), row.name) == (row.type(third) if row.type in (int, float) else third)
    assert value_of(load({row.name: text}, env), row.name) == value


def test_names_of_variables() -> None:
    assert BY_NAME["takeover.refused_is_dead"].env == "DHP_SIDECAR_TAKEOVER__REFUSED_IS_DEAD"
    assert BY_NAME["agent.url"].env == "DHP_SIDECAR_AGENT"
    assert BY_NAME["control_port"].env == "DHP_SIDECAR_CONTROL_PORT"


def test_the_agent_may_be_a_key_or_a_table(tmp_path: Path) -> None:
    file = tmp_path / "sidecar.toml"
    for text in ('agent = "http://a:1"', '[agent]\nurl = "http://a:1"\npoll_interval_ms = 20'):
        file.write_text(text)
        assert load({"config": str(file)}, HOME).agent.url == "http://a:1"
    file.write_text('agent.url = "http://a:1"\nlog = "text"')
    assert "the nearest is" in refusal({"config": str(file)})


def test_one_source_may_not_say_an_option_twice() -> None:
    env = {"DHP_SIDECAR_AGENT": "http://a:1", "DHP_SIDECAR_AGENT__URL": "http://b:1"}
    assert "agent.url" in refusal(env=env)


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"DHP_SIDECAR_AGNET": "http://a:1"}, "the nearest is DHP_SIDECAR_AGENT"),
        ({"DHP_SIDECAR_LEASE_TTL_MS": "1"}, "the nearest is DHP_SIDECAR_LEASE__TTL_MS"),
        ({"DHP_SIDECAR_PORT": "tcp://10.3.0.1:8470"}, "enableServiceLinks"),
        ({"DHP_SIDECAR_SERVICE_HOST": "10.3.0.1"}, "enableServiceLinks"),
        ({"DHP_SIDECAR_PORT": "84700"}, "a port from 0 to 65535"),
        ({"DHP_SIDECAR_PORT": "-1"}, "a port from 0 to 65535"),
        ({"DHP_SIDECAR_LEASE__TTL_MS": "3s"}, "a whole number of milliseconds, at least 200"),
        ({"DHP_SIDECAR_LEASE__TTL_MS": "3.5"}, "a whole number"),
        ({"DHP_SIDECAR_DRAIN_S": "nan"}, "a number of seconds, at least 0"),
        ({"DHP_SIDECAR_DRAIN_S": "inf"}, "a number of seconds"),
        ({"DHP_SIDECAR_INSECURE": "maybe"}, "true or false"),
        ({"DHP_SIDECAR_LOG__FORMAT": "xml"}, "one of auto, json, text"),
        ({"DHP_SIDECAR_STORE": "journal.db"}, "sqlite:///FILE"),
        ({"DHP_SIDECAR_STORE": "sqlite:///"}, "sqlite:///FILE"),
        ({"DHP_SIDECAR_STORE": "sqlite:///a.db?mode=ro"}, "sqlite:///FILE"),
        ({"DHP_SIDECAR_STORE": "postgresql://db/x"}, "sqlite:///FILE"),
        ({"DHP_SIDECAR_AGENT": "127.0.0.1:9000"}, "an address like http://"),
        ({"DHP_SIDECAR_AGENT": "http://user:pw@a:1"}, "without credentials"),
        ({"DHP_SIDECAR_AGENT": "http://a:port"}, "an address like http://"),
        ({"DHP_SIDECAR_NAME": "two\nlines"}, "expected text"),
        ({"DHP_SIDECAR_FRONT__REQUEST_BYTES_MAX": "16 MB"}, "16MiB is accepted"),
        ({"DHP_SIDECAR_CONFIG": "/no/such/file.toml"}, "/no/such/file.toml cannot be read"),
        ({"DHP_SIDECAR_LEASE__MARGIN_MS": "1500"}, "leaves nothing"),
        ({"DHP_SIDECAR_CONTROL_PORT": "8470"}, "port and control_port are both 8470"),
        ({}, "no agent is named"),
        ({"DHP_SIDECAR_PEERS": ","}, "several with commas"),
        ({"DHP_SIDECAR_PEERS": "http://a:1,b:2"}, "several with commas"),
        ({"DHP_SIDECAR_PEERS": "http://a:1", "DHP_SIDECAR_PEER_PORT": "8470"}, "peer_port 8470"),
        ({"DHP_SIDECAR_PAIR": "http://a:1,http://b:1", "DHP_SIDECAR_PEER_PORT": "8470"}, "peer_port 8470"),
        ({"DHP_SIDECAR_PAIR": "http://a:1"}, "--pair names 1 addresses"),
        ({"DHP_SIDECAR_PAIR": "http://a:1,http://a:1/"}, "--pair names 1 addresses"),
        ({"DHP_SIDECAR_PAIR": "http://a:1,http://b:1,http://c:1"}, "--pair names 3 addresses"),
        ({"DHP_SIDECAR_PAIR": "http://a:1,http://b:1", "DHP_SIDECAR_PEERS": "http://a:1"}, "both given"),
    ],
)
def test_what_is_wrong_is_said(env: dict[str, str], said: str) -> None:
    assert said in refusal(env=env)


def test_wrong_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "sidecar.toml"
    for text, said in (
        ("takeover.atempts_max = 3", "the nearest is takeover.attempts_max"),
        ("prot = 1", "the nearest is port"),
        ("port = true", "port in "),
        ("port = 8470.5", "a port from 0"),
        ("insecure = 2", "true or false"),
        ("host = 1", "expected text"),
        ('config = "other.toml"', "config is not an option"),
        ("port = ", "is not TOML"),
        ("port = 1\nport = 2", "is not TOML"),
    ):
        file.write_text(text)
        assert said in refusal({"config": str(file)}), text
    file.write_bytes(b"\xff\xfe")
    assert "is not TOML" in refusal({"config": str(file)})


def test_an_empty_variable_is_unset_and_others_are_not_ours() -> None:
    env = {**HOME, "DHP_SIDECAR_NAME": "", "DHP_SIDECAR_PORT": "", "DHP_OTHER": "x", "SIDECAR_PORT": "1"}
    assert load({}, env) == load({}, HOME)


def test_sizes_may_have_units() -> None:
    row = BY_NAME["front.request_bytes_max"]
    for text, size in (("2048", 2048), ("2KiB", 2048), ("1 MiB", 1 << 20), ("3gib", 3 << 30), ("4096B", 4096)):
        assert parse(row, text, "--x") == size
    assert parse(row, 4096, "a file") == 4096


def test_the_nearest_name_is_always_one_of_them() -> None:
    assert nearest("Lease.TTL", [row.name for row in OPTIONS]) == "lease.ttl_ms"
    assert nearest("\N{SNOWMAN}", ["a", "b"]) in ("a", "b")


@pytest.mark.parametrize(
    ("env", "store"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/h"}, "sqlite:////state/dhp-sidecar/journal.db"),
        ({"XDG_STATE_HOME": "state", "HOME": "/h"}, "sqlite:////h/.local/state/dhp-sidecar/journal.db"),
        ({"HOME": "/h"}, "sqlite:////h/.local/state/dhp-sidecar/journal.db"),
        ({}, "sqlite:////var/lib/.local/state/dhp-sidecar/journal.db"),
    ],
)
def test_the_default_store(env: dict[str, str], store: str) -> None:
    assert default_store(env) == store
    assert load({}, env).store_path == Path(store.removeprefix("sqlite:///"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "::1", "[::1]"])
def test_loopback_needs_no_insecure(host: str) -> None:
    assert ready_to_run(load({**AGENT, "host": host, "name": "a"}, HOME)).host == host


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "fe80::1", "127.0.0.1.example.org"])
def test_other_hosts_need_insecure(host: str) -> None:
    assert "--insecure" in refusal({**AGENT, "host": host})
    assert ready_to_run(load({**AGENT, "host": host, "insecure": "true", "name": "a"}, HOME)).insecure


def test_a_wildcard_needs_a_public_url() -> None:
    flags = {**AGENT, "host": "0.0.0.0", "insecure": "true", "name": "a"}
    assert "--public-url" in refusal(flags)
    config = ready_to_run(load({**flags, "public_url": "http://sidecar.example:8470/"}, HOME))
    assert config.public_url == "http://sidecar.example:8470"


def test_a_sidecar_is_not_its_own_agent() -> None:
    assert "own address" in refusal({"agent.url": "http://127.0.0.1:8470", "name": "a"})


PEERS = {**AGENT, "name": "a", "peers": "http://10.0.0.1:8473, http://10.0.0.2:8473,http://10.0.0.1:8473/"}
LOCAL = {**PEERS, "peers": "http://127.0.0.1:1,http://localhost:2"}
SECRET = "0123456789abcdef"


def test_peers_are_told_apart_and_named_once() -> None:
    config = ready_to_run(load({**PEERS, "cluster_secret": SECRET}, HOME))
    assert config.peer_urls == ("http://10.0.0.1:8473", "http://10.0.0.2:8473")
    assert config.peer_host == "0.0.0.0"
    assert load({}, HOME).peer_urls == ()
    assert ready_to_run(load(LOCAL, HOME)).peer_host == "127.0.0.1"


def test_peers_on_other_machines_need_a_secret(tmp_path: Path) -> None:
    assert "nothing would authenticate" in refusal(PEERS)
    assert "nothing would authenticate" in refusal({**AGENT, "name": "a", "pair": "http://10.0.0.1:1,http://b:1"})
    assert "no cluster secret" in refusal({**LOCAL, "peer_host": "0.0.0.0"})
    assert "has 5 characters" in refusal({**LOCAL, "cluster_secret": "short"})
    file = tmp_path / "secret"
    assert "cannot be read" in refusal({**PEERS, "cluster_secret_file": str(file)})
    file.write_text(f"{SECRET}\n")
    assert ready_to_run(load({**PEERS, "cluster_secret_file": str(file)}, HOME)).cluster_secret == SECRET
    assert "given twice" in refusal(
        {**PEERS, "cluster_secret_file": str(file)}, {"DHP_SIDECAR_CLUSTER_SECRET": SECRET}
    )


def test_a_secret_is_in_no_message() -> None:
    assert SECRET not in repr(load({**PEERS, "cluster_secret": SECRET}, HOME))
    assert "\x07" not in refusal(PEERS, {"DHP_SIDECAR_CLUSTER_SECRET": "bell\x07"})
    assert "bell" not in refusal(PEERS, {"DHP_SIDECAR_CLUSTER_SECRET": "bell\x07"})


def test_the_name_is_kept_per_port(tmp_path: Path) -> None:
    store = tmp_path / "state" / "journal.db"
    first = kept_name(store, 8470)
    assert kept_name(store, 8470) == first
    assert kept_name(store, 8480) != first
    assert kept_name(store, 0) != kept_name(store, 0)
    assert sorted(path.name for path in store.parent.iterdir()) == ["journal.db-8470.name", "journal.db-8480.name"]
    config = ready_to_run(load({**AGENT, "store": f"sqlite:///{store}"}, HOME))
    assert config.name == first


def test_a_name_that_cannot_be_kept_is_the_stores_fault(tmp_path: Path) -> None:
    """Another name would not help: the store stands in the same directory."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"the directory of the store .*give another --store"):
        kept_name(tmp_path / "file" / "journal.db", 8470)
    (tmp_path / "journal.db-8470.name").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="give --name"):
        kept_name(tmp_path / "journal.db", 8470)


def test_every_option_is_documented_with_both_trade_offs() -> None:
    for row in OPTIONS:
        assert len(row.text) > 15, row.name
        if row.type in (int, float) and row.shape != "port":
            assert all((row.less, row.more)), f"{row.name}: what do smaller and larger values cost?"
            assert row.unit or row.name == "takeover.attempts_max", row.name
        if row.unit:
            assert row.name.endswith(f"_{row.unit}") or f"_{row.unit}_" in row.name, row.name


def test_flags_are_spelt_like_their_options() -> None:
    for row in OPTIONS:
        if row.flag:
            assert row.flag == "--" + (row.alias or row.name).replace("_", "-").replace(".", "-")


def test_no_colour_where_no_color_is_set() -> None:
    assert load({}, {**HOME, "NO_COLOR": "1"}).log.colour == "never"
    assert load({}, {**HOME, "NO_COLOR": "", "TERM": "x"}).log.colour == "auto"
    assert load({}, {**HOME, "NO_COLOR": "1", "DHP_SIDECAR_LOG__COLOUR": "auto"}).log.colour == "auto"


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().port = 1  # type: ignore[misc]
