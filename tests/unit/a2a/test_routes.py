"""Every path that the SDK's server answers means the same operation here."""

from __future__ import annotations

import re

import pytest

from bridge.a2a.dialect import OPERATIONS
from bridge.a2a.routes import ANY_PATH, Match, Routes

IDS = ("1", "a:b", "message:send", "x:cancel", "é x", "tasks", "v1")


def named(found: Match | None) -> tuple[str, dict[str, str]] | None:
    return found and (found.operation.name, found.variables)


@pytest.mark.parametrize("base", ["", "/a2a/rest"])
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("task", IDS)
def test_every_operation_at_every_place(base: str, name: str, task: str) -> None:
    routes = Routes({base, "/prefix" + base})
    operation = OPERATIONS[name]
    path = operation.path.replace("{id}", task).replace("{taskId}", task)
    variables = dict.fromkeys(re.findall(r"\{(\w+)\}", operation.path), task)
    for verb in operation.verbs:
        for place in (base + path, base + path + "/", "/prefix" + base + path):
            assert named(routes.find(verb, place)) == (name, variables)
            assert set(operation.verbs) <= set(routes.allowed(place))
        for place in (base + "/acme" + path, "/acme" + base + path, "/prefix" + base + "/acme" + path):
            assert named(routes.find(verb, place)) == (name, {**variables, "tenant": "acme"})
    assert re.fullmatch(ANY_PATH, path)


def test_an_operation_without_a_tenant_has_precedence() -> None:
    routes = Routes([""])
    assert named(routes.find("GET", "/tasks/tasks")) == ("GetTask", {"id": "tasks"})
    assert named(routes.find("GET", "/tasks/x:cancel")) == ("GetTask", {"id": "x:cancel"})
    assert named(routes.find("POST", "/tasks/message:send")) == ("SendMessage", {"tenant": "tasks"})


def test_head_means_get_save_for_a_stream() -> None:
    routes = Routes([""])
    assert named(routes.find("HEAD", "/tasks")) == ("ListTasks", {})
    assert named(routes.find("HEAD", "/tasks/1:subscribe")) == ("GetTask", {"id": "1:subscribe"})
    assert routes.find("HEAD", "/message:send") is None


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/r/message:send", ("POST",)),
        ("PUT", "/r/tasks", ("GET",)),
        ("DELETE", "/r/tasks/1/pushNotificationConfigs", ("GET", "POST")),
        ("POST", "/r/tasks/1", ("GET",)),
        ("GET", "/r", ()),
        ("GET", "/r/", ()),
        ("GET", "/r/docs", ()),
        ("GET", "/r/a/b/tasks", ()),
        ("GET", "/tasks", ()),
        ("GET", "/rest/tasks", ()),
        ("GET", "/r/tasks/1/2", ()),
        ("GET", "", ()),
    ],
)
def test_what_means_nothing(method: str, path: str, allowed: tuple[str, ...]) -> None:
    routes = Routes(["/r"])
    assert routes.find(method, path) is None
    assert routes.allowed(path) == allowed
    assert Routes([]).allowed(path) == ()
