"""``dhp-sidecar cluster show``: what a running sidecar knows of its cluster, asked at its control port.

One sidecar's view: who the members are and whom it reaches, which sessions live, who owns what. Each host is asked
for its own view. Only what the sidecar reports is shown; this file must not open a store. The failure it prevents:
an operator who sees that something is wrong and not at which host.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from sidecar.errors import ConfigError
from sidecar.ops.control import CLUSTER
from sidecar.ops.inspect import OK, WRONG, Screen
from sidecar.ops.timeline import paint, visible

TIMEOUT_S = 5.0
_ID_SHOWN = 8
_BOLD, _GREEN, _RED, _YELLOW, _DIM = "1", "32", "31", "33", "2"
_WIDEST = 200
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1"}  # noqa: S104 - where to ask, not where to listen

Report = dict[str, Any]
Row = Sequence[str]


def fetch(host: str, port: int) -> Report:
    """What the sidecar with this control port reports.

    Raises:
        ConfigError: no sidecar answers there, or one that has no peers.
    """
    if not port:
        raise ConfigError(
            "the control port is off", "give --control-port, the one that the sidecar was started with"
        )
    asked = _EVERYWHERE.get(host, host).strip("[]")
    where = f"http://{asked}:{port}{CLUSTER}"
    connection = http.client.HTTPConnection(asked, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", CLUSTER)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as fault:
        why = getattr(fault, "strerror", None) or str(fault) or type(fault).__name__
        raise ConfigError(f"no sidecar answers at {where}: {why}", _WHERE) from None
    finally:
        connection.close()
    report = _read(body)
    if "detail" in report:
        raise ConfigError(f"{where} answers with {answer.status}: {report['detail']}", _WHERE)
    if answer.status != http.client.OK or "members" not in report:
        raise ConfigError(f"what answers at {where} is no control port of this release ({answer.status})", _WHERE)
    return report


_WHERE = "--host and --control-port say where to ask (the environment and --config count as for run)"


def _read(body: bytes) -> Report:
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}


def show(screen: Screen, report: Report, *, everything: bool = False) -> int:
    """Print a report.

    Args:
        screen: where to.
        report: as ``fetch`` got it.
        everything: sessions that have ended or were replaced, too.

    Returns:
        ``OK`` if all members are reached and the cluster is formed, else ``WRONG``.
    """
    if screen.json:
        screen.object(report)
        return OK if report["well"] else WRONG
    known = f"member list version {report['list']}" if report["list"] else "a pair of hosts"
    formed = known if report["list"] or report["formed"] else "not formed"
    name = f"cluster {report['cluster'][:_ID_SHOWN]}" if report["cluster"] else "cluster"
    screen.line(
        f"{paint(name, _BOLD, on=screen.colour)}  {formed}, as {report['sidecar']} sees it at {report['at']}"
    )
    screen.line()
    members = [_member(each, formed=bool(report["list"] or report["formed"])) for each in report["members"]]
    _table(screen, ("MEMBER", "VOTER", "LIST", "ADDRESS", "REACHED"), members)
    shown = [each for each in report["sessions"] if each["lives"] or not each["over"] or everything]
    screen.line()
    _table(screen, ("SIDECAR", "SESSION", "HEARD", "STATE", "ROLE", "GROUP", "URL"), map(_session, shown))
    over = len(report["sessions"]) - len(shown)
    if over:
        screen.line(
            paint(f"{over} that {'is' if over == 1 else 'are'} over: --all shows them", _DIM, on=screen.colour)
        )
    screen.line()
    if report["owners"]:
        _table(screen, ("OWNER", "SESSION", "AT WORK", "WAITING"), map(_owner, report["owners"]))
    else:
        screen.line("who owns what is asked at a voter" if report.get("joined") else "no task is open")
    screen.line()
    for what in report["wrong"]:
        screen.line(f"{paint('WRONG', _RED, on=screen.colour)}  {visible(what, 10 * _WIDEST)}")
    if report["well"]:
        named = "--join" if report.get("joined") else "--peers"
        screen.line(paint("ok", _GREEN, on=screen.colour) + f"  formed, and all of {named} are reached")
    return OK if report["well"] else WRONG


def _member(each: Report, *, formed: bool) -> tuple[Row, str]:
    address = "(this sidecar)" if each["itself"] else each["address"] or "-"
    reached = "yes" if each["reached"] else f"no: {each['why']}"
    stranger = formed and each["voter"] and not each["member"]
    version = "-" if each["list"] is None else str(each["list"])
    row = (
        each["name"] or "?", each["voter"][:_ID_SHOWN] or "?", version, address,
        f"{reached}, but is no member" if stranger else reached,
    )  # fmt: skip
    return row, _RED if stranger or not each["reached"] else ""


def _session(each: Report) -> tuple[Row, str]:
    if each["over"]:
        state, colour = ("replaced" if each["over"] == "newer_boot" else str(each["over"])), _DIM
    elif not each["lives"]:
        state, colour = "silent", _RED
    elif each["draining"]:
        state, colour = "draining", _YELLOW
    else:
        state, colour = ("ready", "") if each["ready"] else ("no agent", _YELLOW)
    heard = f"{each['age_ms'] / 1000:.1f} s"
    row = (
        each["name"],
        each["session"][:_ID_SHOWN],
        heard,
        state,
        each["role"],
        each["group"] or "-",
        each["url"],
    )
    return row, colour


def _owner(each: Report) -> tuple[Row, str]:
    name = each["name"] or ("unknown" if each["session"] else "nobody")
    gone = "" if each["lives"] or not each["session"] else " (gone)"
    row = (name + gone, each["session"][:_ID_SHOWN] or "-", f"{each['at_work']:,}", f"{each['waiting']:,}")
    return row, _YELLOW if each["at_work"] and not each["lives"] else ""


def _table(screen: Screen, heads: Row, rows: Iterable[tuple[Row, str]]) -> None:
    """Columns as wide as what stands in them; what sidecars call themselves cannot write to the terminal."""
    lines = [([visible(cell, _WIDEST) for cell in row], colour) for row, colour in rows]
    widths = [max(len(row[at]) for row in [heads, *(row for row, _ in lines)]) for at in range(len(heads))]
    for row, colour in [([*heads], _BOLD), *lines]:
        text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        screen.line(paint(text, colour, on=screen.colour))
