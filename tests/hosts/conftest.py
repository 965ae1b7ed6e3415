"""Fixtures of the tests over several hosts: processes without a store in common."""

from __future__ import annotations

from tests.integration.conftest import stage

__all__ = ["stage"]
