"""What a sweep looks for stands in the voter's row, folded from the kinds of a journal's entries.

All sidecars of a store have to be stopped once for this: the release before does not keep these columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from bridge.gist import TELLING, WORKING, Gist, folded
from bridge.handoff import State
from bridge.journal import Kind

revision = "gist"
down_revision = "journal"
branch_labels = None
depends_on = None

_SEQ_BITS = 32
_HANDOFFS = "SELECT id, terminal_seq FROM handoffs WHERE tip_seq > 0 AND purged = 0"
_KINDS = sa.text(
    "SELECT kind FROM entries WHERE position BETWEEN :first AND :last AND kind IN :telling ORDER BY position"
).bindparams(sa.bindparam("telling", expanding=True))
_KEEP = sa.text("UPDATE handoffs SET state = :state, due = :due, cancel = :cancel, waits = :waits WHERE id = :id")


def upgrade() -> None:
    op.drop_index("handoffs_open", "handoffs")
    op.drop_index("tasks_at_work", "tasks")
    flag = sa.Boolean(create_constraint=False)
    op.add_column("handoffs", sa.Column("state", sa.Text, nullable=False, server_default="absent"))
    for name in ("due", "cancel", "waits"):
        op.add_column("handoffs", sa.Column(name, flag, nullable=False, server_default="0"))
    op.add_column("handoffs", sa.Column("shown_seq", sa.Integer, nullable=False, server_default="0"))
    connection = op.get_bind()
    for row in [*_rows(connection)]:
        connection.execute(_KEEP, row)
    open_ = sa.text("(terminal_seq = 0 OR terminal_seq > committed) AND purged = 0")
    op.create_index("handoffs_open", "handoffs", ["waits", "task"], sqlite_where=open_)


def _rows(connection: sa.Connection) -> Iterator[dict[str, object]]:
    telling = sorted(kind.value for kind in TELLING)
    for id_, terminal_seq in connection.exec_driver_sql(_HANDOFFS):
        base = id_ << _SEQ_BITS
        # An end says it all; until now whatever was written was committed.
        first, last = (base + terminal_seq,) * 2 if terminal_seq else (base, base + (1 << _SEQ_BITS) - 1)
        found = connection.execute(_KINDS, {"first": first, "last": last, "telling": telling}).scalars()
        gist = folded(Gist(State.CLAIMED if terminal_seq else State.ABSENT), [Kind(kind) for kind in found])
        yield {
            "id": id_,
            "state": gist.state.value,
            "due": gist.due,
            "cancel": gist.cancel,
            "waits": gist.word not in WORKING,
        }


def downgrade() -> None:
    raise NotImplementedError("a store is not taken back: restore a copy instead")
