"""In which life each voter's file was met: an older one has forgotten something, and that is remembered."""

from __future__ import annotations

import asyncio

import pytest

from sidecar.errors import StoreUnavailable
from sidecar.peers import lives as module
from sidecar.peers.lives import Lives
from sidecar.peers.sealing import Identity, Rejected, Rejection


class Kept:
    """A store's small values; the first writes fail."""

    def __init__(self, failures: int = 0) -> None:
        self.values: dict[str, str] = {"life of broken": "x", "group g": "card"}
        self.failures = failures

    async def keep(self, name: str, value: str) -> None:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("busy")
        self.values[name] = value

    async def kept(self, name: str) -> str | None:
        return self.values.get(name)

    async def kept_names(self, prefix: str) -> set[str]:
        return {name.removeprefix(prefix) for name in self.values if name.startswith(prefix)}


def peer(life: int, session: str, voter: str = "v1") -> Identity:
    return Identity("c", session, life, voter=voter)


async def test_only_a_later_life_follows() -> None:
    lives = Lives(Kept())
    for welcome in (peer(5, "s5"), peer(5, "s5"), peer(6, "s6"), peer(3, "s3", "v2"), peer(1, "s", "")):
        lives.met(welcome)
    for older in (peer(5, "s5"), peer(6, "another"), peer(2, "s2", "v2"), peer(3, "another", "v2")):
        with pytest.raises(Rejected, match="that of c, which was met in a later life") as refused:
            lives.met(older)
        assert refused.value.code is Rejection.OLD_COPY
    lives.met(peer(7, "s7"))
    lives.met(peer(0, "again", ""))  # who has no file has no memory that it could lose


async def test_what_was_met_is_kept_whatever_the_store_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_S", 0.001)
    store = Kept(failures=3)
    lives = Lives(store)
    keeping = asyncio.create_task(lives.run_forever())
    lives.met(peer(5, "s5"))
    await asyncio.sleep(0)
    lives.met(peer(6, "s6"))
    async with asyncio.timeout(5):
        while store.values.get("life of v1") != "6 s6":
            await asyncio.sleep(0.001)
    keeping.cancel()
    later = Lives(store)
    await later.recall()
    later.met(peer(6, "s6"))
    with pytest.raises(Rejected):
        later.met(peer(5, "s5"))
    later.met(peer(1, "s1", "broken"))
