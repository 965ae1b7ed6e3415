"""The schema's history, from the first version on (Alembic)."""
