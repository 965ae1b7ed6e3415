"""The faults that rules can find, each with a stable code.

    BridgeError
    ├── MalformedJson        malformed_json       bytes that are not the JSON we accept
    ├── NotCanonical         not_canonical        a value without a canonical form
    ├── BrokenChain          broken_chain         an entry that does not follow from its predecessor
    ├── IllegalTransition    illegal_transition   an entry that its handoff's state does not allow
    ├── IdConflict           id_conflict          an agent named a task or context that is not its own
    ├── MalformedGossip      malformed_gossip     a gossip message out of shape or out of bounds
    └── ForeignGossip        foreign_gossip       a gossip message of another cluster, version or addressee
    InvariantViolation                            not an Exception: the process must stop

A rule that raises has changed nothing: callers may go on with the state they had.
"""

from __future__ import annotations

from typing import ClassVar


class BridgeError(Exception):
    """A rule refused its input; nothing was changed."""

    code: ClassVar[str] = "bridge_error"


class MalformedJson(BridgeError):
    """The bytes are not JSON, or hold a value that JSON over the wire cannot carry exactly."""

    code = "malformed_json"


class NotCanonical(BridgeError):
    """The value has no canonical form (RFC 8785): NaN, infinity, a lone surrogate, a key that is no string."""

    code = "not_canonical"


class BrokenChain(BridgeError):
    """A journal entry does not follow from the one before it.

    Attributes:
        seq: position of the first entry that is wrong.
        what: which check failed, for people.
    """

    code = "broken_chain"

    def __init__(self, seq: int, what: str) -> None:
        super().__init__(f"entry {seq}: {what}")
        self.seq = seq
        self.what = what


class IllegalTransition(BridgeError):
    """An entry of this kind may not stand where the handoff is."""

    code = "illegal_transition"


class IdConflict(BridgeError):
    """An agent's event names a task or a context that is not the bound one."""

    code = "id_conflict"


class MalformedGossip(BridgeError):
    """A gossip message is not of the shape that its kind has, or holds a value beyond its bound."""

    code = "malformed_gossip"


class ForeignGossip(BridgeError):
    """A gossip message is well formed and not for this member: another cluster, version, or another member's."""

    code = "foreign_gossip"


class InvariantViolation(BaseException):
    """Something that the rules make impossible has happened: stop before more is written.

    Not an ``Exception``: no handler for ordinary faults may swallow it.
    """
