"""``cluster show``: what it prints of a report, and what it says where no sidecar answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO, StringIO
from typing import Any

import pytest

from sidecar.cli import main
from sidecar.errors import ConfigError
from sidecar.ops.cluster import fetch, show
from sidecar.ops.inspect import Screen

ID = "0123456789abcdef0123456789abcdef"


def member(name: str, **said: Any) -> dict[str, Any]:
    given = {"voter": name * 32, "address": f"http://{name}:8473", "itself": False, "reached": True, "why": ""}
    return {"name": name, **given, "member": True, "list": 1, **said}


def session(name: str, **said: Any) -> dict[str, Any]:
    given = {"session": ID, "incarnation": 1, "lives": True, "age_ms": 420, "ready": True, "draining": False}
    more = {"over": "", "role": "sidecar", "group": "census", "url": f"http://{name}:8470", "peer_url": ""}
    return {"name": name, **given, **more, **said}


def owner(name: str, at_work: int, waiting: int, **said: Any) -> dict[str, Any]:
    return {"name": name, "session": ID, "lives": True, "at_work": at_work, "waiting": waiting, **said}


def report(**said: Any) -> dict[str, Any]:
    members = [member("a", itself=True, address=""), member("b"), member("c")]
    given = {"at": "2026-01-02T03:04:05Z", "sidecar": "a", "well": True, "wrong": [], "formed": True}
    rest = {"members": members, "sessions": [session("a"), session("b")], "owners": [owner("a", 1200, 3)]}
    return {**given, "cluster": "c" * 32, "list": 1, **rest, **said}


def printed(
    found: dict[str, Any], *, colour: bool = False, as_json: bool = False, **more: bool
) -> tuple[int, str]:
    out = StringIO()
    return show(Screen(out, BytesIO(), colour, as_json), found, **more), out.getvalue()


def line(text: str, *begin: str) -> str:
    (found,) = [each for each in text.splitlines() if each.split()[: len(begin)] == [*begin]]
    return " ".join(found.split())


def test_a_cluster_that_is_well() -> None:
    status, text = printed(report())
    assert status == 0
    assert text.startswith("cluster cccccccc  member list version 1, as a sees it at 2026-01-02T03:04:05Z\n")
    assert line(text, "a", "aaaaaaaa") == "a aaaaaaaa 1 (this sidecar) yes"
    assert line(text, "b", "bbbbbbbb") == "b bbbbbbbb 1 http://b:8473 yes"
    assert line(text, "b", "01234567") == "b 01234567 0.4 s ready sidecar census http://b:8470"
    assert line(text, "a", "01234567", "1,200") == "a 01234567 1,200 3"
    assert "WRONG" not in text
    assert "\x1b" not in text


def test_a_sidecar_without_a_vote_is_no_member() -> None:
    status, text = printed(report(joined=True, sidecar="gate", members=[member("b"), member("c")], owners=[]))
    assert status == 0
    assert "(this sidecar)" not in text
    assert "all of --join are reached" in text
    assert "who owns what is asked at a voter" in text


def test_what_is_wrong_is_said_and_is_the_exit_status() -> None:
    away = member("c", reached=False, why="cannot be reached: connection refused", list=None)
    strange = member("d", member=False)
    nowhere = member("", voter="e" * 32, address="", reached=False, why="no address leads to it", list=None)
    found = report(
        well=False, wrong=["peer c is away", "d is no member"],
        members=[member("a", itself=True), away, strange, nowhere],
    )  # fmt: skip
    status, text = printed(found)
    assert status == 1
    assert line(text, "c", "cccccccc").endswith("- http://c:8473 no: cannot be reached: connection refused")
    assert line(text, "d", "dddddddd").endswith("yes, but is no member")
    assert line(text, "?", "eeeeeeee") == "? eeeeeeee - - no: no address leads to it"
    assert text.splitlines()[-2:] == ["WRONG  peer c is away", "WRONG  d is no member"]


def test_a_cluster_that_is_not_formed() -> None:
    unmet = member("", voter="", reached=False, why="cannot be reached", member=False, list=None)
    found = report(well=False, wrong=["not met"], formed=False, cluster="", list=0, sessions=[], owners=[],
                   members=[member("a", itself=True, member=False, list=0), unmet])  # fmt: skip
    status, text = printed(found)
    assert status == 1
    assert text.startswith("cluster  not formed, as a sees it")
    assert line(text, "?", "?") == "? ? - http://:8473 no: cannot be reached"
    assert "no task is open" in text


def test_states_of_sidecars() -> None:
    rows = [
        session("a", ready=False), session("b", draining=True), session("c", lives=False, age_ms=9000),
        session("d", lives=False, over="released"), session("e", lives=False, over="newer_boot"),
    ]  # fmt: skip
    _, text = printed(report(sessions=rows))
    assert "no agent" in line(text, "a", "01234567", "0.4")
    assert "draining" in line(text, "b", "01234567")
    assert "9.0 s silent" in line(text, "c", "01234567")  # a host that is lost is shown, whatever else is left out
    assert "2 that are over: --all shows them" in text
    _, text = printed(report(sessions=rows), everything=True)
    assert "released" in line(text, "d", "01234567")
    assert "replaced" in line(text, "e", "01234567")
    assert "--all" not in text


def test_owners_that_are_gone_and_nobody() -> None:
    owners = [
        owner("", 2, 0, session="", lives=False),
        owner("b", 0, 5, lives=False),
        owner("", 1, 0, lives=False),
    ]
    _, text = printed(report(owners=owners))
    assert line(text, "nobody") == "nobody - 2 0"
    assert line(text, "b", "(gone)") == "b (gone) 01234567 0 5"
    assert line(text, "unknown") == "unknown (gone) 01234567 1 0"


def test_json_is_the_report_as_it_is() -> None:
    found = report(well=False, wrong=["x"])
    status, text = printed(found, as_json=True)
    assert (status, json.loads(text)) == (1, found)
    assert text.count("\n") == 1


def test_colours_and_names_that_would_write_to_the_terminal() -> None:
    bad = "x\x1b[2Jy"
    _, plain = printed(report(members=[member(bad)], sessions=[session(bad, group=bad)]))
    assert "\x1b" not in plain
    _, coloured = printed(report(well=False, wrong=["w"]), colour=True)
    assert "\x1b[31mWRONG\x1b[0m" in coloured


@contextmanager
def answering(status: int, body: bytes) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (404, b'{"detail": "this sidecar has no peers: it was started without --peers"}', "has no peers"),
        (200, b"<html>", "no control port of this release"),
        (500, b"[]", "no control port of this release"),
        (200, b'{"status": "ok"}', "no control port of this release"),
    ],
)
def test_what_answers_is_no_sidecar_with_peers(status: int, body: bytes, told: str) -> None:
    with answering(status, body) as port, pytest.raises(ConfigError, match=told) as refused:
        fetch("127.0.0.1", port)
    assert "--control-port" in refused.value.hint


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_where_it_asks(host: str) -> None:
    with answering(200, json.dumps(report()).encode()) as port:
        assert fetch(host, port)["sidecar"] == "a"


def test_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DHP_SIDECAR_CONTROL_PORT", raising=False)
    with answering(200, b"{}") as port:
        pass
    for command, told in (
        (["cluster", "show", "--control-port", str(port)], "no sidecar answers at"),
        (["cluster", "show", "--control-port", "0"], "the control port is off"),
        (["cluster"], "ACTION"),
        (["cluster", "destroy"], "invalid choice: 'destroy'"),
        (["cluster", "show", "--jsn"], "the nearest is --json"),
    ):
        assert main(command) == 2
        said = capsys.readouterr()
        assert told in said.err
        assert said.out == ""


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cluster", "show", "--help"])
    text = capsys.readouterr().out
    for word in ("members", "sidecars", "owners", "draining", "exit codes", "--all", "--json", "--control-port"):
        assert word in text
