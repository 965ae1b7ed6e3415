"""For tests that kill: agents and sidecars as real processes, what a client saw of it, and what the journals say.

    Stage              all processes of one test, on one store; what a client does and what the store holds
    AgentProcess       an agent, started by any command
    SidecarProcess     a sidecar or a gateway
    Recording          what one client saw of one task
    message, wait_for  the params of a send; waiting for a condition instead of sleeping

``docs/testing.md`` shows how; the pytest plugin ``dhp_sidecar`` has a fixture, ``dhp_stage``. Nothing heavy is
imported until one of these names is used: pytest loads the plugin in every run of everybody who has this package
installed. Nothing of the product may import what is in here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sidecar.testing.processes import AgentProcess, Process, SidecarProcess, free_port, wait_for
    from sidecar.testing.recording import Frame, Recording
    from sidecar.testing.stage import Stage, message

_PLACES = {
    "AgentProcess": "processes",
    "Frame": "recording",
    "Process": "processes",
    "Recording": "recording",
    "SidecarProcess": "processes",
    "Stage": "stage",
    "free_port": "processes",
    "message": "stage",
    "wait_for": "processes",
}

__all__ = [
    "AgentProcess",
    "Frame",
    "Process",
    "Recording",
    "SidecarProcess",
    "Stage",
    "free_port",
    "message",
    "wait_for",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
