"""What is still to be passed on: each news a bounded number of times, the least told first, new before old.

Every message has room for so many bytes of it. A news that was replaced by a newer one of the same subject is not
passed on any more. The failures this prevents: messages and memory that grow with what happens in the cluster, and
an old story that is told while a new one waits. What falls out here unheard is found by comparing tables
(``exchange``). This file must not know what the news are.
"""

from __future__ import annotations

from typing import Generic, TypeVar

RUMOURS_MAX = 4_096
NEWS_BYTES_MAX = 4_096

Record = TypeVar("Record")


class Rumours(Generic[Record]):
    """News of one kind that wait to be passed on.

    Args:
        kept_max: how many; beyond it the most told and oldest are dropped.
    """

    def __init__(self, kept_max: int = RUMOURS_MAX) -> None:
        self._kept_max = kept_max
        self._told: list[dict[str, tuple[Record, int]]] = [{}]  # by how often it was told; newest last
        self._times: dict[str, int] = {}

    def add(self, subject: str, record: Record, size: int) -> None:
        """Something new is known of a subject.

        Args:
            subject: what it is about.
            record: what to pass on.
            size: of it in a message, in bytes.
        """
        self.drop(subject)
        self._told[0][subject] = (record, size)
        self._times[subject] = 0
        if len(self._times) > self._kept_max:
            self.drop(next(iter(next(level for level in reversed(self._told) if level))))

    def drop(self, subject: str) -> None:
        """Nothing of this subject is to be passed on any more."""
        times = self._times.pop(subject, None)
        if times is not None:
            del self._told[times][subject]

    def take(self, room: int, repeats: int, *, first: bool = False) -> tuple[list[Record], int]:
        """What one message passes on; each of it counts as told once more.

        Args:
            room: bytes that are left in the message.
            repeats: how often each news is told in all.
            first: the message holds nothing yet, so even something larger than the room may go.

        Returns:
            The records, and the room that is left.
        """
        taken: list[tuple[str, int]] = []
        records: list[Record] = []
        for times, level in enumerate(self._told):
            for subject in reversed(level):
                record, size = level[subject]
                if size > room and not (first and not records):
                    break  # records of one kind are of about one size: what follows would not fit either
                room -= size
                records.append(record)
                taken.append((subject, times))
        for subject, times in reversed(taken):
            self._tell(subject, times, repeats)
        return records, room

    def __len__(self) -> int:
        return len(self._times)

    def _tell(self, subject: str, times: int, repeats: int) -> None:
        entry = self._told[times].pop(subject)
        if times + 1 >= repeats:
            del self._times[subject]
            return
        if times + 1 == len(self._told):
            self._told.append({})
        self._told[times + 1][subject] = entry
        self._times[subject] = times + 1
