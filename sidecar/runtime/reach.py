"""Where an agent is, as a journal that several hosts read names it.

The failure this prevents: a host that takes the agent beside it for the one that another host reaches at the same
loopback address, and asks it for a run that it never had.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from sidecar.options import is_loopback


def reached_as(endpoint: str, boot: str) -> str:
    """An agent's address among hosts: a loopback one says of which network it is.

    Args:
        endpoint: base URL, "" where there is no agent.
        boot: the host's boot id.
    """
    if not is_loopback(urlsplit(endpoint).hostname or ""):
        return endpoint
    return f"{endpoint}#{boot}/{_network()}"


@cache
def _network() -> int:
    """This process's network namespace: containers of one host have loopbacks of their own."""
    try:
        return Path("/proc/self/ns/net").stat().st_ino
    except OSError:  # not shown here: the boot id must do
        return 0
