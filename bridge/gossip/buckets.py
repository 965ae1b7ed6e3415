"""One number for a table, and one for each part of it: where two members differ, found without sending the table.

Each record is hashed, each bucket is the exclusive or of its records, the root that of all. So a record that
comes, changes or goes costs one hash, equal tables have equal roots whatever the order of their history, and a
difference in few records shows in few buckets. The failure this prevents: anti-entropy whose cost grows with the
cluster while nothing differs. Only what must agree for long belongs in: a record that each member forgets in its
own time would keep the roots apart for ever.

Digests find differences by accident, not by malice: who may send is checked before (the peer port's secret).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

_DIGEST_BYTES = 6  # fits a JSON number exactly; 2^-48 that one difference hides another


class Buckets:
    """Digests of a table.

    Args:
        count: of buckets; the same at every member of a cluster.

    Attributes:
        root: of the whole table.
    """

    def __init__(self, count: int) -> None:
        self.root = 0
        self._count = count
        self._digests: dict[int, int] = {}
        self._keys: dict[int, dict[str, int]] = {}

    def put(self, key: str, *content: object) -> None:
        """A record is in the table, with this content."""
        digest = int.from_bytes(sha256(repr((key, content)).encode()).digest()[:_DIGEST_BYTES])
        bucket = self.bucket_of(key)
        keys = self._keys.setdefault(bucket, {})
        self._turn(bucket, digest ^ keys.get(key, 0))
        keys[key] = digest

    def drop(self, key: str) -> None:
        """A record is in the table no more, if it was."""
        bucket = self.bucket_of(key)
        digest = self._keys.get(bucket, {}).pop(key, None)
        if digest is not None:
            self._turn(bucket, digest)

    def digests(self) -> tuple[int, ...]:
        """Of every bucket, in order."""
        return tuple(self._digests.get(bucket, 0) for bucket in range(self._count))

    def differing(self, digests: Sequence[int]) -> list[int]:
        """The buckets in which a table with these digests differs."""
        return [
            bucket for bucket, (own, other) in enumerate(zip(self.digests(), digests, strict=True)) if own != other
        ]

    def keys(self, bucket: int) -> list[str]:
        """The records of a bucket."""
        return sorted(self._keys.get(bucket, {}))

    def bucket_of(self, key: str) -> int:
        """Where a record belongs."""
        return int.from_bytes(sha256(key.encode()).digest()[:2]) % self._count

    def _turn(self, bucket: int, digest: int) -> None:
        self._digests[bucket] = self._digests.get(bucket, 0) ^ digest
        self.root ^= digest
