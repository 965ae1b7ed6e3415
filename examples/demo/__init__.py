"""The demo: real processes, an unmodified client, a killed agent. ``python -m examples.demo``."""
