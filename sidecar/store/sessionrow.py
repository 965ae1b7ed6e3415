"""What is known of a session, as data.

Facts only: how old the last renewal is, whether the kernel lock is free, whether a newer boot exists. The failure
this prevents: one place that takes a fact for another's verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bridge.lease import Evidence


class Renewal(StrEnum):
    """A renewal's answer; an exception means that nobody knows."""

    RENEWED = "renewed"
    FENCED = "fenced"  # a newer session of this name exists, or this one was released


@dataclass(frozen=True, slots=True)
class Session:
    """A registered session.

    Attributes:
        session: boot nonce: 16 random bytes in hex.
        name: the sidecar's name, unique in the store.
        boot: counts the sessions of this name.
    """

    session: str
    name: str
    boot: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What is known of a session.

    Attributes:
        session, name, boot: see ``Session``.
        group: agent group.
        role, url: as registered.
        address: of its wake-up socket.
        ready, draining, capacity: as of its last renewal.
        age_ms: since the last renewal.
        this_boot: it was registered since the host booted; if not, its process is gone and the age says nothing.
        lock_free: no process holds its lock file, or there is none and it did not renew in time: it is gone.
        fenced: a newer session of its name was registered.
        released: it said that it is leaving.
        refused: nobody listens at its address any more, and the operator says that this proves its end.
    """

    session: str
    name: str
    boot: int
    group: str
    role: str
    url: str
    address: str
    ready: bool
    draining: bool
    capacity: int
    age_ms: int
    this_boot: bool
    lock_free: bool
    fenced: bool
    released: bool
    refused: bool = False

    @property
    def evidence(self) -> Evidence | None:
        """The strongest evidence that the session is gone, if any."""
        if self.released:
            return Evidence.RELEASED
        if self.fenced:
            return Evidence.NEWER_BOOT
        if self.lock_free or not self.this_boot:
            return Evidence.LOCK_FREED
        return Evidence.REFUSED if self.refused else None
