"""What a large message costs everybody else."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sidecar.runtime import intake


@pytest.mark.parametrize(("size", "beside"), [(intake.LARGE_BYTES, False), (intake.LARGE_BYTES + 1, True)])
async def test_a_large_message_is_hashed_beside_the_event_loop(size: int, beside: bool) -> None:
    def hash_of(value: Any) -> str:
        return f"{value} {threading.current_thread() is not threading.main_thread()}"

    assert await intake._hashed(hash_of, "v", size) == f"v {beside}"
