"""Journals in SQLite: the only package that knows SQL."""

from sidecar.store.localvoter import Heard, LocalVoter
from sidecar.store.reads import HandoffRow, InboxRow, Reads
from sidecar.store.sessionrow import Renewal, Session, SessionRow
from sidecar.store.sessions import Sessions
from sidecar.store.store import Store, open_readonly
from sidecar.store.voter import SqlVoter

__all__ = [
    "HandoffRow",
    "Heard",
    "InboxRow",
    "LocalVoter",
    "Reads",
    "Renewal",
    "Session",
    "SessionRow",
    "Sessions",
    "SqlVoter",
    "Store",
    "open_readonly",
]
