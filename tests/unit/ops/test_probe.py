"""The health check of a container: what the process says is the exit status, and nobody there is a failure."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from sidecar.ops.probe import ask, main


class Control(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/rude":
            self.wfile.write(b"no HTTP at all\r\n\r\n")
            return
        body = b'{"status": "ok"}' if self.path == "/healthz" else b'{"reasons": ["draining"]}'
        self.send_response(200 if self.path == "/healthz" else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def control() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Control)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_alive_is_status_0(control: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{control}/healthz"]) == 0
    assert capsys.readouterr().out == '200 {"status": "ok"}\n'


def test_not_ready_is_status_1_and_says_why(control: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{control}/readyz"]) == 1
    assert "draining" in capsys.readouterr().out


def test_an_answer_that_is_no_http_is_not_health(control: str) -> None:
    assert not ask(f"{control}/rude")[0]


def test_nobody_there_is_not_health() -> None:
    server = HTTPServer(("127.0.0.1", 0), Control)
    port = server.server_port
    server.server_close()
    well, said = ask(f"http://127.0.0.1:{port}/healthz")
    assert not well
    assert "refused" in said
