"""The member list as a sidecar without a vote has it: the newest that a member tells, kept in memory.

It forms no list and is on none. The failure it prevents: a gateway that is given addresses of no voter, or of too
few of them, and seems to be one of a cluster that takes no work.
"""

from __future__ import annotations

import asyncio
import logging

from bridge.journal import Entry
from sidecar.errors import StoreError
from sidecar.peers.members import LOOK_S, Members
from sidecar.peers.reach import ID_SHOWN, Held, Reach
from sidecar.ports import Clock, Voter

log = logging.getLogger(__name__)

LOOK_AGAIN_S = 5.0
"""Everybody is asked for the whole list: a change of it is no matter of seconds."""


class JoinedMembers(Members):
    """Which voters there are, as those tell.

    Args:
        name: of this sidecar.
        session: boot nonce of this life.
        reach: who is met, and what they tell.
        clock: for people.
    """

    def __init__(self, name: str, session: str, reach: Reach, clock: Clock) -> None:
        super().__init__("", name, session, _nothing, reach, clock)

    @property
    def formed(self) -> bool:
        """There is a list."""
        return bool(self.list.members)

    async def run_forever(self, voter: Voter) -> None:  # noqa: ARG002 - this one writes no list
        """Ask for the list, soon where there is none, until cancelled."""
        while True:
            try:
                await self.look()
                self._tell()
            except StoreError as error:
                log.debug("the member list could not be asked for and will be again: %s", error)
            await asyncio.sleep(LOOK_AGAIN_S if self.formed and not self.problem else LOOK_S)

    async def look(self) -> None:
        """Ask the configured peers for it."""
        held = [(link.name, link.voter, said) for link, said in await self._reach.lists()]
        told = [said for _, voter, said in held if said.list is not None and voter in said.list.members]
        clusters = {said.cluster for said in told} | ({self.cluster} if self.cluster else set())
        if len(clusters) == 1:
            newest = max((said.list for said in told if said.list is not None), default=self.list)
            if newest.version >= self.list.version:
                self.list, (self.cluster,) = newest, clusters
                self._sets = (newest.members,)
        self._judge_joined(len(clusters) > 1, held)

    def _judge_joined(self, several: bool, held: list[tuple[str, str, Held]]) -> None:
        reach, members = self._reach, self.list.members
        named = [voter for _, voter, _ in held if voter in members]
        strangers = [voter for _, voter, _ in held if voter and voter not in members]
        self.problem = self.doubt = ""
        if several:
            which = "; ".join(
                f"{name} belongs to {said.cluster[:ID_SHOWN]}" for name, _, said in held if said.cluster
            )
            self.problem = f"--join leads to members of different clusters: {which}: give the addresses of one"
        elif not members:
            self.problem = self._why_unknown(held)
        elif 2 * len(named) <= len(members):
            self.problem = (
                f"{len(named)} of the cluster's {len(members)} members have been met by way of --join, and a "
                f"majority is needed: give the addresses of all of them; {reach.unmet()}".rstrip("; ")
            )
        elif strangers:
            self.doubt = f"--join leads to what is no member of this cluster: {reach.all_called(strangers)}"
        elif not reach.unmet() and len(named) < len(members):
            self.doubt = f"--join names {len(named)} of the cluster's {len(members)} members: give it all of them"

    def _why_unknown(self, held: list[tuple[str, str, Held]]) -> str:
        reach = self._reach
        if reach.alone:
            return (
                "--join leads to no voter but to this sidecar itself: give the addresses of the cluster's members"
            )
        if any(voter for _, voter, _ in held):
            return f"the voters that --join leads to have not formed their cluster yet; {reach.unmet()}".rstrip(
                "; "
            )
        return f"--join leads to no voter: {reach.unmet()}; give the addresses of the cluster's members"


async def _nothing(task: str, after: int, limit: int) -> list[Entry]:  # noqa: ARG001
    return []
