"""Alembic's entry point: runs the migrations on the connection, and in the transaction, that opening the store
made."""

from __future__ import annotations

from alembic import context

from sidecar.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False, render_as_batch=True)
context.run_migrations()
