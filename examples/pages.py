"""A web server with 60 real pages: Python's own documentation of its standard library, as pydoc renders it.

    python -m examples.pages --port 9180
    curl http://127.0.0.1:9180/json.html      a page
    curl http://127.0.0.1:9180/urls           all addresses, one a line
    curl http://127.0.0.1:9180/counts         how often each page was fetched

It counts on its own side of the wire, so what an agent fetched twice is not a matter of what the agent believes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pydoc
import threading
import time
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_NAMES = """
abc argparse array ast base64 bisect bz2 calendar cmath codecs collections colorsys configparser
contextlib copy csv dataclasses datetime decimal difflib dis enum errno fileinput fnmatch fractions
functools gettext glob graphlib gzip hashlib heapq hmac html http inspect io ipaddress itertools
json keyword linecache locale logging lzma math mimetypes operator pathlib pickle platform pprint
queue random sched secrets shlex statistics string
"""
MODULES = tuple(_NAMES.split())


class Pages(ThreadingHTTPServer):
    """The pages and their counts.

    Args:
        address: where to listen.
        latency: seconds that each page takes, as if it came from far away.
    """

    daemon_threads = True

    def __init__(self, address: tuple[str, int], latency: float = 0) -> None:
        super().__init__(address, Request)
        self._latency = latency
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._rendered: dict[str, bytes] = {}

    @property
    def base(self) -> str:
        """The address of the server."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def page(self, name: str) -> bytes:
        """One page, counted before it is rendered: a fetch that is broken off counts too."""
        with self._lock:
            self.counts[name] += 1
        time.sleep(self._latency)
        with self._lock:
            if name not in self._rendered:
                module = importlib.import_module(name)
                text = pydoc.html.page(pydoc.describe(module), pydoc.html.document(module, name))
                self._rendered[name] = text.encode("utf-8", "replace")
            return self._rendered[name]


class Request(BaseHTTPRequestHandler):
    """One request."""

    server: Pages
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with a page, the addresses or the counts."""
        name = self.path.strip("/").removesuffix(".html")
        if name == "counts":
            self._send(json.dumps(self.server.counts).encode(), "application/json")
        elif name == "urls":
            # Under the name by which the server was called: who asks can reach it there.
            base = f"http://{self.headers['Host']}"
            self._send("\n".join(f"{base}/{each}.html" for each in MODULES).encode(), "text/plain")
        elif name in MODULES:
            self._send(self.server.page(name), "text/html; charset=utf-8")
        else:
            self.send_error(404)

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent: the counts are the log."""


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=9180, help="default 9180, 0 for any")
    parser.add_argument("--latency", type=float, default=0, help="seconds that each page takes, default 0")
    args = parser.parse_args(argv)
    server = Pages((args.host, args.port), args.latency)
    print(server.base, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
