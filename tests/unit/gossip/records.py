"""Members and owners for tests, and how chance makes them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from bridge.gossip.member import Accusation, Incarnation, Member, Role, Told
from bridge.gossip.owners import Owned, Stamp, Tenure
from bridge.journal import Fence


def told(name: str, life: int = 1, word: int = 0, **said: Any) -> Told:
    said = {"session": f"{name}{life}", "peer_url": f"http://{name}:8473", **said}
    return Told(name, Incarnation(life, word), **said)


def accused(life: int, word: int, *by: str) -> Accusation:
    return Accusation(Incarnation(life, word), by)


def owned(task: str, n: int, owner: str, number: int, tenure: Tenure = Tenure.OWNS, life: int = 1) -> Owned:
    return Owned(task, Fence(n, f"{owner}{life}"), owner, Stamp(life, number), tenure)


incarnations = st.builds(Incarnation, st.integers(1, 3), st.integers(0, 3))
words = st.builds(
    Told,
    st.just("m"),
    incarnations,
    st.sampled_from(["s1", "s2"]),
    st.sampled_from(Role),
    ready=st.booleans(),
    capacity=st.integers(0, 2),
    left=st.booleans(),
)
accusations = st.none() | st.builds(
    Accusation, incarnations, st.sets(st.sampled_from("abcdef"), min_size=1, max_size=3).map(sorted).map(tuple)
)
members = st.builds(Member, words, accusations)
ownerships = st.builds(
    Owned,
    st.just("t"),
    st.builds(Fence, st.integers(1, 3), st.sampled_from(["s", "z"])),
    st.sampled_from(["a", "b"]),
    st.builds(Stamp, st.integers(1, 2), st.integers(1, 3)),
    st.sampled_from(Tenure),
)
