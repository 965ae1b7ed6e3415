"""Alembic's entry point: migrations run in the transaction that opening the store began."""

from __future__ import annotations

from alembic import context

from sidecar.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False, render_as_batch=True)
context.run_migrations()
