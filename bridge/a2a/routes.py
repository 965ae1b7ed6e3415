"""Which operation an HTTP request means, by method and path (§11.3).

The paths are those of the table of operations; what is here turns them into patterns, once. This file must not
know where a request comes from or what an operation does. The failure it prevents: a path that an agent would
answer as A2A and the sidecar would not, so that it leads past the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bridge.a2a.dialect import OPERATIONS, Operation

_VARIABLE = re.compile(r"\{(\w+)\}")


class Match(NamedTuple):
    """A request that means an operation.

    Attributes:
        operation: which.
        variables: members of its request that stand in the path, the tenant among them.
    """

    operation: Operation
    variables: dict[str, str]


def _pattern(path: str) -> str:
    literals = _VARIABLE.split(path)  # literal, name, literal, name, …
    return "".join(f"(?P<{each}>[^/]+)" if at % 2 else re.escape(each) for at, each in enumerate(literals))


#: The most particular first: ``/tasks/{id}:subscribe`` is no task of that name.
_TEMPLATES: tuple[tuple[re.Pattern[str], Operation], ...] = tuple(
    (re.compile(_pattern(each.path)), each)
    for each in sorted(OPERATIONS.values(), key=lambda each: -len(_VARIABLE.sub("", each.path)))
)
_TENANT = re.compile(r"/([^/]+)(/.+)")

#: Any operation's path, as a pattern without groups.
ANY_PATH = "|".join(dict.fromkeys(re.sub(r"\(\?P<\w+>", "(?:", each.pattern) for each, _ in _TEMPLATES))


class Routes:
    """The operations at one or more places.

    A tenant may stand in front of an operation's path, and in front of the place: the SDK's clients write the
    first, its servers mount the second. Both mean the same. An operation without a tenant has precedence.

    Args:
        bases: paths of HTTP+JSON interfaces, without trailing slash ("": root).
    """

    def __init__(self, bases: Iterable[str]) -> None:
        self._bases = tuple(sorted(bases))

    def find(self, method: str, path: str) -> Match | None:
        """The operation that a request means, None where it means none.

        Args:
            method: of HTTP. HEAD means GET, save where the answer would be a stream.
            path: percent-decoded. A trailing slash changes nothing.
        """
        for operation, variables in self._at(path):
            if method in operation.verbs or (
                method == "HEAD" and "GET" in operation.verbs and not operation.streaming
            ):
                return Match(operation, variables)
        return None

    def allowed(self, path: str) -> tuple[str, ...]:
        """The methods that mean an operation at a path, sorted; none where no operation stands there."""
        return tuple(sorted({verb for operation, _ in self._at(path) for verb in operation.verbs}))

    def _at(self, path: str) -> Iterator[tuple[Operation, dict[str, str]]]:
        for below, tenant in self._below(path.removesuffix("/")):
            for pattern, operation in _TEMPLATES:
                if found := pattern.fullmatch(below):
                    yield operation, {**found.groupdict(), **tenant}

    def _below(self, path: str) -> Iterator[tuple[str, dict[str, str]]]:
        """What remains of a path below the places, and the tenant that it names."""
        below = [path[len(base) :] for base in self._bases if path.startswith(base)]
        yield from ((each, {}) for each in below)
        for each in below:
            if found := _TENANT.fullmatch(each):
                yield found[2], {"tenant": found[1]}
        if found := _TENANT.fullmatch(path):
            for base in filter(None, self._bases):
                if found[2].startswith(base):
                    yield found[2][len(base) :], {"tenant": found[1]}
