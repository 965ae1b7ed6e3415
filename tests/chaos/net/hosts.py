"""Hosts on one machine: a network namespace each, one address, and a switch between them.

Whoever uses this is in a namespace of its own already (``inside``): nothing of the machine's network is touched.
This file must not know what runs on the hosts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.chaos.net.switch import Switch

HERE = "here"
"""The place that starts everything, on the same switch: its clients reach the hosts from there."""

MARK = "DHP_TEST_IN_NAMESPACE"


def permitted() -> str:
    """Why this machine cannot have hosts, "" if it can."""
    if os.geteuid():
        return "only root may make network namespaces"
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        return "ip and unshare (iproute2, util-linux) are not installed"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    tried = subprocess.run(
        ["unshare", "--net", "ip", "tuntap", "add", "dev", "try0", "mode", "tap"], capture_output=True, check=False
    )
    return "" if tried.returncode == 0 else tried.stderr.decode().strip()


def inside(arguments: Sequence[str]) -> None:
    """Be in a network namespace of one's own: this process is replaced by ``python -m …`` there, once."""
    if MARK not in os.environ:
        command = ["unshare", "--net", sys.executable, "-m", *arguments]
        os.execvpe("unshare", command, {**os.environ, MARK: "1"})
    _ip("link", "set", "lo", "up")


class Hosts:
    """Hosts and the switch between them.

    Args:
        names: theirs.
        seed: see ``Switch``.

    Attributes:
        switch: between them.
        addresses: by name.
        namespaces: by name.
    """

    def __init__(self, names: Sequence[str], seed: int) -> None:
        self.switch = Switch(seed)
        self.addresses = {name: f"10.77.0.{number}" for number, name in enumerate(names, 1)}
        self.namespaces = {name: f"dhp-{os.getpid()}-{number}" for number, name in enumerate(names, 1)}
        for name, namespace in self.namespaces.items():
            interface = f"h{self.addresses[name].rpartition('.')[2]}"
            _ip("netns", "add", namespace)
            self.switch.plug_in(name, interface)
            _ip("link", "set", interface, "netns", namespace, "name", "eth0")
            _ip("-n", namespace, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
            for each in ("eth0", "lo"):
                _ip("-n", namespace, "link", "set", each, "up")
        self.switch.plug_in(HERE, HERE)
        _ip("addr", "add", "10.77.0.254/24", "dev", HERE)
        _ip("link", "set", HERE, "up")

    def popen(self, command: list[str], *, stdout: Any, **how: Any) -> subprocess.Popen[bytes]:
        """``subprocess.Popen`` on the host that the log is named after; its process id is the program's own."""
        namespace = self.namespaces[Path(stdout.name).stem]
        return subprocess.Popen(["ip", "netns", "exec", namespace, *command], stdout=stdout, **how)

    def close(self) -> None:
        """Nothing is left of them; processes there must have ended."""
        self.switch.close()
        for namespace in self.namespaces.values():
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
