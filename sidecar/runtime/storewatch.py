"""Whether the store can be written, measured by writing to it.

Readiness must be false before a client's message fails, also on an idle sidecar, and true again by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sidecar.errors import StoreError

log = logging.getLogger(__name__)

LOOK_S = 1.5
LOOK_FAILING_S = 0.5


class StoreWatch:
    """Tries the store now and then.

    Args:
        attempt: writes something that changes nothing, and returns once it is durable.

    Attributes:
        problem: why the last attempt failed, "" when it did not.
    """

    def __init__(self, attempt: Callable[[], Awaitable[None]]) -> None:
        self._attempt = attempt
        self.problem = ""

    async def run_forever(self) -> None:
        """Try until cancelled."""
        while True:
            try:
                await self._attempt()
                self.problem = ""
            except StoreError as error:
                self.problem = f"{error}; it is tried again"
            except Exception as error:
                log.exception("trying to write failed and will be tried again")
                self.problem = f"{type(error).__name__}: {error}; it is tried again"
            await asyncio.sleep(LOOK_FAILING_S if self.problem else LOOK_S)
