"""The first schema: handoffs, their entries, the rows that reads use, message keys, the inbox."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "journal"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    _handoffs()
    _entries()
    _tasks()
    op.create_table(
        "keys",
        sa.Column("key_hash", sa.Text, primary_key=True),
        sa.Column("generation", sa.Integer, primary_key=True),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("intent", sa.Text, nullable=False),
        sa.Column("answered", sa.Boolean(create_constraint=False), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("inbox_by_task", "inbox", ["task"])


def _handoffs() -> None:
    op.create_table(
        "handoffs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("task", sa.Text, nullable=False, unique=True),
        sa.Column("promised_n", sa.Integer, nullable=False),
        sa.Column("promised_session", sa.Text, nullable=False),
        sa.Column("tip_n", sa.Integer, nullable=False),
        sa.Column("tip_session", sa.Text, nullable=False),
        sa.Column("tip_seq", sa.Integer, nullable=False),
        sa.Column("tip_hash", sa.LargeBinary, nullable=False),
        sa.Column("committed", sa.Integer, nullable=False),
        sa.Column("granted_n", sa.Integer),
        sa.Column("granted_session", sa.Text),
        sa.Column("granted_until_ms", sa.Integer, nullable=False),
        sa.Column("granted_boot", sa.Text),
        sa.Column("terminal_seq", sa.Integer, nullable=False),
        sa.Column("purged", sa.Boolean(create_constraint=False), nullable=False),
        sa.Column("released", sa.Boolean(create_constraint=False), nullable=False),
    )
    op.create_index("handoffs_open", "handoffs", ["task"], sqlite_where=sa.text("terminal_seq = 0 AND purged = 0"))


def _entries() -> None:
    op.create_table(
        "entries",
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("fence_n", sa.Integer, nullable=False),
        sa.Column("fence_session", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("at", sa.Integer, nullable=False),
        sa.Column("body_hash", sa.LargeBinary, nullable=False),
        sa.Column("prev", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary),
        sa.Column("handoff", sa.Integer, sa.Computed("position >> 32", persisted=False)),
        sa.Column("seq", sa.Integer, sa.Computed("position & 4294967295", persisted=False)),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("handoff", sa.Integer, primary_key=True),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("principal", sa.Text, nullable=False),
        sa.Column("context_id", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("task_state", sa.Text, nullable=False),
        sa.Column("status_at", sa.Integer, nullable=False),
        sa.Column("listed", sa.Boolean(create_constraint=False), nullable=False),
    )
    whose, order = ["tenant", "principal"], ["status_at", "task"]
    listed = sa.text("listed")
    op.create_index("tasks_by_status", "tasks", [*whose, *order], sqlite_where=listed)
    op.create_index("tasks_by_context", "tasks", [*whose, "context_id", *order], sqlite_where=listed)
    at_work = sa.text("state IN ('dispatched', 'claimed', 'running', 'orphaned')")
    op.create_index("tasks_at_work", "tasks", ["handoff"], sqlite_where=at_work)
    op.create_table(
        "finished",
        sa.Column("handoff", sa.Integer, primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("a store is not taken back: restore a copy instead")
