"""Equal tables have equal digests, and a difference is found where it is."""

from itertools import permutations

import pytest

from bridge.gossip.buckets import Buckets

RECORDS = [(f"k{number}", number % 3) for number in range(5)]


def table(records: list[tuple[str, int]], count: int = 8) -> Buckets:
    buckets = Buckets(count)
    for key, content in records:
        buckets.put(key, content)
    return buckets


def test_the_order_of_a_tables_history_does_not_show() -> None:
    expected = table(RECORDS)
    for order in permutations(RECORDS):
        buckets = table([("k0", 99), ("gone", 1), *order])
        buckets.drop("gone")
        buckets.drop("never was")
        assert (buckets.root, buckets.digests()) == (expected.root, expected.digests())
    assert table([]).root == 0


def test_what_differs_is_found_in_its_bucket() -> None:
    one, other = table(RECORDS), table(RECORDS)
    other.put("k3", "changed")
    other.put("new", 1)
    found = one.differing(other.digests())
    assert found == sorted({one.bucket_of("k3"), one.bucket_of("new")})
    assert one.root != other.root
    assert all("k3" in one.keys(bucket) for bucket in found if bucket == one.bucket_of("k3"))
    assert sorted(key for bucket in range(8) for key in other.keys(bucket)) == sorted([*dict(RECORDS), "new"])


def test_tables_of_another_number_of_buckets_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="longer"):
        table(RECORDS, 4).differing(table(RECORDS, 8).digests())


def test_records_spread_over_the_buckets() -> None:
    buckets = table([(f"t{number}", 0) for number in range(800)])
    assert all(60 < len(buckets.keys(bucket)) < 140 for bucket in range(8))
