"""A query means what the SDK's server takes it for; what that reads generously is refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest
from a2a.types import a2a_pb2 as pb
from a2a.utils.proto_utils import parse_params
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from starlette.datastructures import QueryParams

from bridge.a2a.faults import A2AFault
from bridge.a2a.query import params_of_query
from bridge.a2a.shapes import settle_request

REQUESTS = {"GetTask": pb.GetTaskRequest, "ListTasks": pb.ListTasksRequest}


def ours(operation: str, query: str) -> dict[str, Any]:
    return settle_request(operation, params_of_query(operation, parse_qsl(query, keep_blank_values=True)))


def theirs(operation: str, query: str) -> Any:
    parse_params(QueryParams(query), message := REQUESTS[operation]())
    return message


@pytest.mark.parametrize(
    ("operation", "query"),
    [
        ("GetTask", ""),
        ("GetTask", "historyLength=0"),
        ("GetTask", "historyLength=-1&unknown=1&history_length=5"),
        ("GetTask", "historyLength=1&historyLength=2"),
        ("ListTasks", "contextId=a%20b%2Fc+d&pageToken=&pageSize=100"),
        ("ListTasks", "status=TASK_STATE_WORKING"),
        ("ListTasks", "status=2"),
        ("ListTasks", "includeArtifacts=true"),
        ("ListTasks", "includeArtifacts=False&includeArtifacts=TRUE"),
        ("ListTasks", "includeArtifacts=false&statusTimestampAfter=2026-11-29T12:00:00Z"),
    ],
)
def test_the_same_as_the_sdk(operation: str, query: str) -> None:
    found = ParseDict(ours(operation, query), REQUESTS[operation]())
    assert MessageToDict(found) == MessageToDict(theirs(operation, query))
    assert found == theirs(operation, query)


@pytest.mark.parametrize("query", ["historyLength=", "historyLength=x", "pageSize=5.5", "pageSize=99999999999"])
def test_what_both_refuse(query: str) -> None:
    with pytest.raises(ParseError):
        theirs("ListTasks", query)
    with pytest.raises(A2AFault) as raised:
        ours("ListTasks", query)
    assert raised.value.message.startswith(query.partition("=")[0])


@pytest.mark.parametrize("query", ["includeArtifacts=", "includeArtifacts=1", "includeArtifacts=yes"])
def test_a_boolean_is_true_or_false(query: str) -> None:
    with pytest.raises(A2AFault, match="true or false"):
        ours("ListTasks", query)


def test_members_that_are_objects_do_not_stand_in_a_query() -> None:
    assert ours("SendMessage", "message=x&configuration={}&tenant=t") == {"tenant": "t"}
