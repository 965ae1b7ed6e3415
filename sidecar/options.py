"""What an option is, and how its value is read from a flag, a variable or a file.

``config`` declares the options; this file turns text into checked values and wrong text into a sentence. It must
not know any single option, nor where files lie. The failure it prevents: a misspelt setting that is silently
ignored, found months later by the outage it should have prevented.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from sidecar.errors import ConfigError

ENV_PREFIX = "DHP_SIDECAR_"
_MARK = "option"
_ADDRESS = "an address like http://127.0.0.1:9000, without credentials, query or fragment"
_SIZES = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([A-Za-z]*)\Z")
_UNITS = {"ms": "milliseconds", "s": "seconds", "bytes": "bytes (16MiB is accepted too)"}
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_KUBERNETES = "Kubernetes sets such variables for a Service named dhp-sidecar: use enableServiceLinks: false"


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table.

    Attributes:
        name: dotted name; also its key in the file.
        type: ``str``, ``int``, ``float``, ``bool`` or a ``Literal`` of strings.
        default: used when nobody says otherwise.
        text: what it decides, with its formula.
        unit: ``ms``, ``s``, ``bytes`` or nothing.
        less, more: what a smaller and a larger value cost.
        flag: on the command line, or nothing.
        shape: ``text``, ``url``, ``urls``, ``port`` or ``store``: what the value must look like beyond its type.
        at_least: the smallest number that makes sense.
        alias: a second, shorter name (``agent`` for ``agent.url``).
        shown: how help and README write a default that is found out at run time.
        in_file: False for what only a flag or a variable can say.
        secret: never shown, not even in a traceback.
    """

    name: str
    type: Any
    default: Any
    text: str
    unit: str = ""
    less: str = ""
    more: str = ""
    flag: str = ""
    shape: str = "text"
    at_least: float = 0
    alias: str = ""
    shown: str = ""
    in_file: bool = True
    secret: bool = False

    @property
    def env(self) -> str:
        """Its environment variable: ``a.b_c`` is ``DHP_SIDECAR_A__B_C``."""
        return env_name(self.alias or self.name)

    @property
    def default_text(self) -> str:
        """Its default, for people."""
        if self.shown:
            return self.shown
        if self.unit == "bytes" and self.default % (1 << 20) == 0:
            return f"{self.default >> 20}MiB"
        return str(self.default).lower() if self.type is bool else str(self.default)

    @property
    def expected(self) -> str:
        """What a value must be, for people."""
        if self.type is bool:
            return "true or false"
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(get_args(self.type))
        if self.shape == "url":
            return _ADDRESS
        if self.shape == "urls":
            return f"{_ADDRESS}, or several with commas between them"
        if self.shape == "store":
            return "sqlite:///FILE (an absolute FILE makes four slashes)"
        if self.shape == "port":
            return "a port from 0 to 65535"
        if self.type is str:
            return "text"
        number = "a whole number" if self.type is int else "a number"
        unit = f" of {_UNITS[self.unit]}" if self.unit else ""
        return f"{number}{unit}, at least {self.at_least:g}"


def option(default: Any, text: str, **rest: Any) -> Any:
    """Declare a field of a configuration dataclass as an option (see ``Option`` for ``rest``)."""
    return field(default=default, metadata={_MARK: {"text": text, **rest}}, repr=not rest.get("secret"))


def table(config: type[Any], prefix: str = "") -> tuple[Option, ...]:
    """The rows of a configuration dataclass, its nested dataclasses included, in order of declaration."""
    rows: list[Option] = []
    hints = get_type_hints(config)
    for item in fields(config):
        kind = hints[item.name]
        if is_dataclass(kind) and isinstance(kind, type):
            rows.extend(table(kind, f"{prefix}{item.name}."))
        else:
            assert item.default is not MISSING
            rows.append(Option(prefix + item.name, kind, item.default, **item.metadata[_MARK]))
    return tuple(rows)


def build(config: type[Any], values: Mapping[str, Any], prefix: str = "") -> Any:
    """A configuration from dotted names and checked values; what is missing takes its default."""
    hints = get_type_hints(config)
    given: dict[str, Any] = {}
    for item in fields(config):
        kind, name = hints[item.name], prefix + item.name
        if is_dataclass(kind) and isinstance(kind, type):
            given[item.name] = build(kind, values, f"{name}.")
        elif name in values:
            given[item.name] = values[name]
    return config(**given)


def env_name(name: str) -> str:
    """The variable of a dotted name."""
    return ENV_PREFIX + name.replace(".", "__").upper()


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that looks most like this one."""
    return max(known, key=lambda candidate: SequenceMatcher(None, name.lower(), candidate.lower()).ratio())


def from_env(rows: Iterable[Option], env: Mapping[str, str]) -> dict[str, Any]:
    """Checked values from the ``DHP_SIDECAR_*`` variables; an empty variable counts as unset.

    Raises:
        ConfigError: a variable of ours that is no option, or a value that does not fit.
    """
    known = _known(rows, env_name)
    values: dict[str, Any] = {}
    for variable in sorted(env):
        if not variable.startswith(ENV_PREFIX) or env[variable] == "":
            continue
        row = known.get(variable)
        if row is None:
            kubernetes = re.match(r"DHP_SIDECAR_(SERVICE_|PORT_\d)", variable)
            hint = _KUBERNETES if kubernetes else f"the nearest is {nearest(variable, known)}"
            raise ConfigError(f"{variable} is not an option", hint)
        _put(values, row, env[variable], variable)
    return values


def from_file(rows: Iterable[Option], content: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Checked values from a parsed TOML file.

    Raises:
        ConfigError: a key that is no option, or a value that does not fit.
    """
    known = _known((row for row in rows if row.in_file), str)
    values: dict[str, Any] = {}
    for name, value in _leaves(content):
        row = known.get(name)
        if row is None:
            raise ConfigError(f"{where}: {name} is not an option", f"the nearest is {nearest(name, known)}")
        _put(values, row, value, f"{name} in {where}")
    return values


def from_flags(rows: Iterable[Option], flags: Mapping[str, str]) -> dict[str, Any]:
    """Checked values from dotted names and the text given on the command line."""
    by_name = {row.name: row for row in rows}
    return {name: parse(by_name[name], text, by_name[name].flag) for name, text in flags.items()}


def parse(row: Option, value: object, source: str) -> Any:
    """The checked value of one option.

    Args:
        row: the option.
        value: text, or what TOML made of it.
        source: where it came from, for the message.

    Raises:
        ConfigError: it does not fit; the message says what was expected.
    """
    try:
        return _parse(row, value)
    except ValueError:
        hint = _KUBERNETES if str(value).startswith("tcp://") else ""
        shown = "what it is" if row.secret else repr(value)
        raise ConfigError(f"{source} is {shown}: expected {row.expected}", hint) from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a listener on ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _parse(row: Option, value: object) -> Any:
    if row.type is bool:
        return _bool(value)
    if row.type in (int, float):
        return _number(row, value)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError
    if get_origin(row.type) is Literal and value not in get_args(row.type):
        raise ValueError
    if row.shape == "url":
        return _url(value)
    if row.shape == "urls":
        return ",".join(dict.fromkeys(_url(each.strip()) for each in value.split(",")))
    if row.shape == "store" and not re.match(r"sqlite:///[^?#]*[^/?#]\Z", value):
        raise ValueError
    return value


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in _TRUE | _FALSE:
        raise ValueError
    return text in _TRUE


def _number(row: Option, value: object) -> int | float:
    if row.unit == "bytes" and isinstance(value, str):
        size = _SIZE.match(value.strip())
        if size is None or size[2].upper() not in _SIZES:
            raise ValueError
        value = int(size[1]) * _SIZES[size[2].upper()]
    # By way of text: TOML's true is not 1, and 8470.5 is no port.
    number = int(str(value)) if row.type is int else float(str(value))
    # Written so that NaN does not pass; a port may be 0.
    if not row.at_least <= number < float("inf") or (row.shape == "port" and number > 65535):
        raise ValueError
    return number


def _url(value: str) -> str:
    parts = urlsplit(value)
    wrong = parts.username or parts.password or parts.query or parts.fragment or " " in value
    if parts.scheme not in ("http", "https") or not parts.hostname or wrong:
        raise ValueError
    _ = parts.port  # raises ValueError where it is no number
    return value.rstrip("/")


def _leaves(content: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _known(rows: Iterable[Option], spell: Any) -> dict[str, Option]:
    return {spell(name): row for row in rows for name in (row.name, row.alias) if name}


def _put(values: dict[str, Any], row: Option, value: object, source: str) -> None:
    if row.name in values:
        raise ConfigError(f"{source} says again what {row.name} has said", "leave one of the two out")
    values[row.name] = parse(row, value, source)
