"""Mail is taken in once: what an owner reads before it is the owner may be gone by then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.handoff import State
from bridge.jsontext import write
from sidecar.records import KeyRow
from sidecar.runtime.mail import Mail

Json = dict[str, Any]
KEY: Json = {"key_hash": "k", "generation": 0, "task_id": "t", "intent": "i", "answered": False}


class Journal:
    async def written(self) -> bool:
        return True


class Owner:
    """Whoever owns the handoff in this session."""

    over = False

    def __init__(self, *, working: bool, rests: bool) -> None:
        self.journal, self.working, self.rests = Journal(), working, rests
        self.taken: list[str] = []

    async def take_input(self, body: Json, key: KeyRow, headers: object, inbox: list[int]) -> int:
        self.taken.append(f"{body['id']} of {inbox[0]}")
        return key.generation


class World:
    """A store with an inbox, and a claim that takes so long that an earlier owner takes the mail in."""

    def __init__(self, owner: Owner, *, taken_by_another: bool) -> None:
        body = write({"input": {"id": "m1"}, "key": KEY})
        self.inbox = [SimpleNamespace(id=7, kind="input", body=body)]
        self.store, self.owner, self._taken, self.session = self, owner, taken_by_another, "this"

    async def inbox_take(self, _: str) -> list[Any]:
        return list(self.inbox)

    async def handoff_row(self, _: str) -> Any:
        return SimpleNamespace(terminal=False, state=State.SUSPENDED, owner="another", released=False)

    async def may_run(self) -> bool:
        return True

    async def own(self, _: str, reason: str = "") -> Owner | None:
        if reason and self._taken:
            self.inbox.clear()
        return self.owner if reason else None


def mail_of(world: World) -> Mail:
    return Mail(cast("Any", world), cast("Any", world))


async def test_what_an_earlier_owner_took_in_is_not_taken_in_again() -> None:
    owner = Owner(working=True, rests=False)
    await mail_of(World(owner, taken_by_another=True)).take_in("t")
    assert owner.taken == []
    await mail_of(World(owner, taken_by_another=False)).take_in("t")
    assert owner.taken == ["m1 of 7"]


@pytest.mark.parametrize(
    ("working", "rests", "more"), [(True, False, False), (False, True, False), (False, False, True)]
)
async def test_who_claims_for_mail_and_does_nothing_says_so(working: bool, rests: bool, more: bool) -> None:
    owner = Owner(working=working, rests=rests)
    assert await mail_of(World(owner, taken_by_another=False)).take_in("t") is more
