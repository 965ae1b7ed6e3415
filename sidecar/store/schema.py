"""The store's tables.

One row per handoff is the voter's memory (``handoffs``), one row per handoff is what reads and lists use
(``tasks``); entries are clustered by handoff and position, so a journal is read and extended in one place of the
file. This file must not know any rule. The failure it prevents: two statements that disagree about a column.

Design notes and trade-offs:

* ``entries.position`` packs ``(handoff row, seq)`` into one integer key (``seq`` in the low 32 bits). SQLite
  clusters a table by its integer key only; a composite key would need a second b-tree and double every append.
* ``terminal_seq`` of a handoff and what a sweep looks for (``bridge.gist``) are kept by the voter from the
  entries' kinds, not from the view: the sweep must be right even where no view was ever written.
* One partial index serves the sweep and the list of all open handoffs, those that wait behind the others: it is
  written with every append.
* Hashes are stored as 32 bytes, not as hex: a fifth less to write per streamed event.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Computed,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

APPLICATION_ID = 0x44485053
"""``PRAGMA application_id`` of a journal file: another program's database is not taken for a store."""

SEQ_BITS = 32

# Conditions of partial indexes: SQLite uses such an index only where a query repeats its condition literally.
OPEN = (
    "(handoffs.terminal_seq = 0 OR handoffs.terminal_seq > handoffs.committed) AND handoffs.purged = 0 "
    "AND handoffs.waits IN (0, 1)"  # SQLite looks into the index only where its first column is asked for
)
AT_WORK = OPEN.replace("waits IN (0, 1)", "waits = 0")
LISTED = "tasks.listed"

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

handoffs = Table(
    "handoffs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task", Text, nullable=False, unique=True),
    Column("promised_n", Integer, nullable=False),
    Column("promised_session", Text, nullable=False),
    Column("tip_n", Integer, nullable=False),
    Column("tip_session", Text, nullable=False),
    Column("tip_seq", Integer, nullable=False),
    Column("tip_hash", LargeBinary, nullable=False),
    Column("committed", Integer, nullable=False),
    Column("granted_n", Integer),
    Column("granted_session", Text),
    Column("granted_until_ms", Integer, nullable=False),
    Column("granted_boot", Text),  # grants count on the clock of one boot of the host
    Column("terminal_seq", Integer, nullable=False),  # 0: not terminal
    Column("purged", Boolean(create_constraint=False), nullable=False),
    Column(
        "released", Boolean(create_constraint=False), nullable=False
    ),  # orphaned by its owner, not claimed since
    Column("state", Text, nullable=False, server_default="absent"),  # of all entries, committed or not
    Column("due", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column("cancel", Boolean(create_constraint=False), nullable=False, server_default="0"),
    # Nothing is to be done, and all of it is known to be committed: a sweep passes it by.
    Column("waits", Boolean(create_constraint=False), nullable=False, server_default="0"),
    Column(
        "shown_seq", Integer, nullable=False, server_default="0"
    ),  # what the row for reads was made at, 0: unknown
)
Index(
    "handoffs_open",
    handoffs.c.waits, handoffs.c.task,
    sqlite_where=text("(terminal_seq = 0 OR terminal_seq > committed) AND purged = 0"),
)  # fmt: skip

entries = Table(
    "entries",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("fence_n", Integer, nullable=False),
    Column("fence_session", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Integer, nullable=False),
    Column("body_hash", LargeBinary, nullable=False),
    Column("prev", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("body", LargeBinary),
    # For people who look with the sqlite3 shell; they take no space.
    Column("handoff", Integer, Computed(f"position >> {SEQ_BITS}", persisted=False)),
    Column("seq", Integer, Computed(f"position & {(1 << SEQ_BITS) - 1}", persisted=False)),
)

tasks = Table(
    "tasks",
    metadata,
    Column("handoff", Integer, primary_key=True),
    Column("task", Text, nullable=False),
    Column("tenant", Text, nullable=False),
    Column("principal", Text, nullable=False),
    Column("context_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("task_state", Text, nullable=False),
    Column("status_at", Integer, nullable=False),
    Column("listed", Boolean(create_constraint=False), nullable=False),
)
Index(
    "tasks_by_status",
    tasks.c.tenant, tasks.c.principal, tasks.c.status_at, tasks.c.task,
    sqlite_where=text("listed"),
)  # fmt: skip
Index(
    "tasks_by_context",
    tasks.c.tenant, tasks.c.principal, tasks.c.context_id, tasks.c.status_at, tasks.c.task,
    sqlite_where=text("listed"),
)  # fmt: skip

finished = Table(
    "finished",
    metadata,
    Column("handoff", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("key_hash", Text, primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("task", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("answered", Boolean(create_constraint=False), nullable=False),
    sqlite_with_rowid=False,
)

inbox = Table(
    "inbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("task", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    sqlite_autoincrement=True,  # ids are never used twice: a late deletion cannot hit another message
)
Index("inbox_by_task", inbox.c.task)


def first_position(handoff: int, seq: int = 0) -> int:
    """The entries key of a position in a handoff's journal."""
    return (handoff << SEQ_BITS) | seq


def last_position(handoff: int) -> int:
    """The largest entries key that a handoff's journal can have."""
    return (handoff << SEQ_BITS) | ((1 << SEQ_BITS) - 1)
