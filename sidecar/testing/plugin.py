"""The pytest plugin ``dhp_sidecar``: one fixture, and nothing that a run without it could notice.

It adds no option, no marker, no hook that changes anything, and imports pytest alone. The failure it prevents: a
test suite that breaks, or gets slower, because somebody installed a sidecar.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sidecar.testing.stage import Stage

# What these modules assert about a test's processes is told as pytest tells it.
pytest.register_assert_rewrite(*(f"sidecar.testing.{each}" for each in ("processes", "recording", "stage")))


@pytest.fixture
def dhp_stage(tmp_path: Path) -> Iterator[Stage]:
    """Agents and sidecars on one store (``sidecar.testing.Stage``). Enter it in your event loop: ``async with``.

    Whatever was started on it is killed at the end of the test, however the test ends.
    """
    from sidecar.testing.stage import Stage  # noqa: PLC0415 - only for those who use it

    directory = tmp_path / "dhp-stage"
    directory.mkdir()
    stage = Stage(directory)
    try:
        yield stage
    finally:
        stage.end()
