"""Asks a process's control port how it is, and says it as an exit status: the health check of a container.

An image has no curl; it has Python. This file must not import anything beyond the standard library: a check that
runs every few seconds has to cost little. The failure it prevents: a health check that is true because a port is
open, while the process behind it answers nothing.

    python -m sidecar.ops.probe                                     alive: /healthz of the default control port
    python -m sidecar.ops.probe http://127.0.0.1:8472/readyz        ready, or why not
"""

from __future__ import annotations

import http.client
import sys
from collections.abc import Sequence
from urllib.parse import urlsplit

URL = "http://127.0.0.1:8472/healthz"
TIMEOUT_S = 2.0
_SHOWN_BYTES = 400


def ask(url: str, timeout_s: float = TIMEOUT_S) -> tuple[bool, str]:
    """Whether a GET is answered with 200, and what the answer says.

    Args:
        url: http only, without credentials or query.
        timeout_s: for the connection, and for each read.
    """
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", parts.path or "/")
        answer = connection.getresponse()
        body = answer.read(_SHOWN_BYTES).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as fault:
        return False, f"{url}: {str(fault) or type(fault).__name__}"
    finally:
        connection.close()
    return answer.status == http.client.OK, f"{answer.status} {body}"


def main(argv: Sequence[str]) -> int:
    """Ask once; 0 if all is well. What was said goes to standard output, where container engines keep it."""
    well, said = ask(argv[0] if argv else URL)
    sys.stdout.write(f"{said}\n")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
