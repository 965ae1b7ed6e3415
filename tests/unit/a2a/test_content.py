"""Content is what is said, whatever its chunks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.a2a.artifact import Artifact, changed_metadata, extended_head, head_of, same_head
from bridge.a2a.content import Content, Match, Place, same_json, weight
from bridge.a2a.extension import URI
from tests.unit.a2a.model_agents import said
from tests.unit.a2a.model_client import flat

Json = dict[str, Any]

PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"text": text}, st.text("ab", max_size=3)),
        st.builds(lambda text: {"text": text, "mediaType": "x"}, st.text("ab", max_size=2)),
        st.sampled_from([{"data": 1}, {"data": True}, {"data": {"a": [1]}}, {"url": "u"}]),
    ),
    max_size=6,
)


def as_said(parts: list[Json]) -> list[str]:
    return [json.dumps(run, sort_keys=True) for run in said(parts)]


def starts(parts: list[Json], known: list[Json]) -> bool:
    """Whether ``known`` is a prefix of ``parts``, character by character."""
    return flat(parts)[: len(flat(known))] == flat(known)


@given(PARTS, PARTS)
def test_contents_say_the_same_when_they_read_the_same(one: list[Json], other: list[Json]) -> None:
    assert Content(one).same(Content(other)) == (as_said(one) == as_said(other))


@given(PARTS, PARTS)
def test_runs_do_not_depend_on_when_they_are_asked_for(one: list[Json], more: list[Json]) -> None:
    grown = Content(one)
    grown.runs()
    grown.extend(more)
    assert grown.runs() == Content(one + more).runs()
    assert grown.runs() is grown.runs()


@given(PARTS, st.lists(PARTS, max_size=4))
def test_a_match_says_of_chunks_what_is_true_of_the_whole(known: list[Json], chunks: list[list[Json]]) -> None:
    match = Match(Content(known))
    fed: list[Json] = []
    beyond: list[Json] = []
    for chunk in chunks:
        fed += chunk
        if beyond:
            break
        beyond = match.feed(chunk)
        assert match.complete == starts(fed, known)
        assert match.diverged == (not starts(fed, known) and not starts(known, fed))
        assert match.longer_by == weight(fed) - weight(known)
        if match.complete:
            assert Content([*known, *beyond]).same(Content(fed))
        elif not match.diverged:
            assert beyond == []
            assert Content(Content(known).before(match.place)).same(Content(fed))


@given(PARTS, PARTS)
def test_content_before_a_place_stays_when_more_comes(one: list[Json], more: list[Json]) -> None:
    content = Content(one)
    match = Match(content)
    match.feed(one)
    assert match.complete
    content.extend(more)
    assert Content(content.before(match.place)).same(Content(one))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ([1, True], [1, 1], False),
        ([1], [1, 2], False),
        ([], {}, False),
        (None, None, True),
    ],
)
def test_json_is_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert same_json(one, other) is same


def test_empty_and_null_members_of_a_text_part_are_absent() -> None:
    assert Content([{"text": "a", "metadata": {}, "filename": None}, {"text": "b"}]).same(
        Content([{"text": "ab"}])
    )


def test_a_place_in_text_is_cut_there() -> None:
    assert Content([{"data": 1}, {"text": "abc"}]).before(Place(2, 1)) == [{"data": 1}, {"text": "a"}]
    assert Content([{"text": "abc"}]).before(Place(0, 0)) == []


def test_appended_chunks_merge_metadata_and_keep_the_name() -> None:
    artifact = Artifact(
        {"artifactId": "a", "name": "n", "metadata": {"k": 1}, "parts": [{"text": "x"}]}, last=False
    )
    before = artifact.head
    artifact.append({"artifactId": "a", "name": "other", "metadata": {"l": 2}, "ours": 3}, last=True)
    assert artifact.head == {"name": "n", "metadata": {"k": 1, "l": 2}, "ours": 3}
    assert before == {"name": "n", "metadata": {"k": 1}}
    assert artifact.closed
    artifact.append({"artifactId": "a", "parts": [{"text": "y"}]}, last=False)
    assert artifact.closed
    assert artifact.content.parts == [{"text": "x"}, {"text": "y"}]
    artifact.replace({"artifactId": "a", "parts": [{"text": "z"}]}, last=False)
    assert not artifact.closed
    assert artifact.head == {}


def test_heads_are_compared_without_what_says_nothing() -> None:
    assert same_head({"name": "", "metadata": {}, "extensions": []}, {"description": None})
    assert not same_head({"name": "a"}, {"name": "b"})
    assert changed_metadata({"metadata": {"a": 1, "b": 2, "c": 3}}, {"metadata": {"a": 1, "b": 3}}) == {
        "b": 2,
        "c": 3,
    }
    assert changed_metadata({}, {}) == {}
    assert same_head({"metadata": {URI + "/checkpoint": 1}}, {})
    assert same_head({"metadata": {URI + "/checkpoint": 1, "k": 1}}, {"metadata": {"k": 1}})
    assert head_of({"artifactId": "a", "parts": [], "name": "n"}) == {"name": "n"}
    assert extended_head({}, {"artifactId": "a", "metadata": {"k": 1}}) == {"metadata": {"k": 1}}


def test_text_that_goes_on_where_another_part_should_come_differs() -> None:
    match = Match(Content([{"text": "ab"}, {"data": 1}]))
    assert match.feed([{"text": "abc"}]) == []
    assert match.diverged
    assert match.feed([{"text": "d"}]) == []


def test_another_part_in_the_place_of_one_differs() -> None:
    for known, other in (({"data": 1}, {"data": 2}), ({"data": 1}, {"text": "x"}), ({"text": "x"}, {"data": 1})):
        match = Match(Content([known]))
        assert match.feed([other]) == []
        assert match.diverged


def test_another_part_before_the_text_was_said_differs() -> None:
    match = Match(Content([{"text": "abc"}]))
    assert match.feed([{"text": "ab"}]) == []
    assert not match.diverged
    assert match.feed([{"data": 1}]) == []
    assert match.diverged
