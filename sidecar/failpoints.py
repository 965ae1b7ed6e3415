"""Named places at which a test lets this process die, wait or fail, around every commit.

Crash safety is a claim about every place between two writes. Naming the places makes the claim testable: a test
starts a sidecar that kills itself at one of them, starts it again, and looks at what is left. Nothing here may be
switched on by accident: without ``DHP_FAILPOINTS_OK=1`` a process that is given failpoints refuses to start, and
without ``DHP_FAILPOINTS`` a passing costs one look into an empty set.

    DHP_FAILPOINTS="NAME=kill:3, NAME=sleep:50"    what to do at which point
        kill[:N]       SIGKILL itself at the N-th passing (default: the first)
        kill-after:MS  SIGKILL itself so many milliseconds after the first passing
        sleep:MS       block the passing thread so long, at every passing
        hold-while:F   block the passing thread as long as a file F exists
        fail:N         be unable to use the store at one in N passings, always the same ones
        fail-while:F   the same at every passing, as long as a file F exists

This file must not know what the places mean to the code around them. ``POINTS`` is the one table of their names.
"""

from __future__ import annotations

import logging
import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from sidecar.errors import ConfigError, StoreUnavailable
from sidecar.options import nearest

log = logging.getLogger(__name__)

VARIABLE, CONSENT = "DHP_FAILPOINTS", "DHP_FAILPOINTS_OK"

_WRITTEN = {
    "bound": "the binding to a run: an attempt is counted, the agent has not been asked",
    "event": "events of the agent",
    "step": "a checkpoint with its receipts",
    "suspended": "a question of the agent",
    "rewound": "the record that a replacement follows",
    "input": "a later message of the client",
    "cancel": "a client's wish to cancel",
    "answered": "that a response was written out",
    "orphaned": "that the run is lost",
    "review": "that an operator has to look",
    "terminal": "how the task ended",
}
_MOMENTS = {
    "before_commit": "is decided and not yet on its way to the store",
    "after_commit": "is durable; nobody has been shown it",
    "after_publish": "is durable and was handed to those who follow the task here",
}

POINTS: Mapping[str, str] = {
    "accept.before_commit": "a new message was read; nothing is written",
    "accept.after_commit": "its dispatch is durable; nobody drives it yet",
    "accept.before_answer": "its run has been started; the client has heard nothing",
    "request.before_send": "what is asked of the agent is durable; the agent has not heard of it",
    "claim.granted": "another owner's handoff was granted; its claim is not written",
    "claim.before_commit": "the journal was adopted; the claim is on its way to the store",
    "claim.after_commit": "the claim is durable; nothing was begun under it",
    "inbox.before_commit": "something for another sidecar's handoff was read; it is not written",
    "inbox.after_commit": "it is durable; its owner has not taken it in",
    "session.before_renew": "a renewal of the session is due; the sessions' file was not touched",
    "store.before_read": "something was asked of the store; nothing was read",
    "store.before_begin": "the store's turn was taken; no transaction is open",
    "store.before_commit": "a transaction holds all its rows and is not committed",
    "store.after_commit": "a transaction is committed; nobody has been told",
    **{
        f"{kind}.{moment}": f"{what}: {state}"
        for kind, what in _WRITTEN.items()
        for moment, state in _MOMENTS.items()
    },
}
"""Every failpoint and what is true when it is reached."""

ARMED: frozenset[str] = frozenset()
"""The points at which something happens in this process. Empty in every process that serves anybody."""

HOLD_LOOK_S = 0.005

_acts: dict[str, Callable[[], None]] = {}


def reach(name: str) -> None:
    """This place is being passed."""
    if name in ARMED:
        _acts[name]()


def reach_each(kinds: Iterable[str], moment: str) -> None:
    """The same for several things that are written at once; ask ``ARMED`` before, where it is passed often."""
    for kind in dict.fromkeys(kinds):
        reach(f"{kind}.{moment}")


def arm(env: Mapping[str, str]) -> None:
    """Switch on what the environment names; called once, before anything runs.

    Raises:
        ConfigError: an unknown point, an action that is none, or no consent.
    """
    global ARMED  # noqa: PLW0603 - the one switch; a lookup in an empty set is what it costs when off
    said = [part.strip() for part in env.get(VARIABLE, "").split(",") if part.strip()]
    if not said:
        return
    if env.get(CONSENT) != "1":
        raise ConfigError(f"{VARIABLE} makes this process kill itself", f"unset it; tests also set {CONSENT}=1")
    for part in said:
        name, _, action = part.partition("=")
        if name not in POINTS:
            raise ConfigError(f"{name} is no failpoint", f"the nearest is {nearest(name, POINTS)}")
        _acts[name] = _action(name, action)
    ARMED = frozenset(_acts)
    log.critical("failpoints are armed in this process: %s", ", ".join(said))


def _action(name: str, action: str) -> Callable[[], None]:
    for pattern, make in _ACTIONS.items():
        read = re.fullmatch(pattern, action)
        if read is not None:
            return make(name, read[1])
    raise ConfigError(f"{name}={action} is no action of a failpoint", "the module says which there are")


class _KillAt:
    def __init__(self, name: str, passing: str | None) -> None:
        self._name, self._left = name, int(passing or 1)

    def pass_by(self) -> None:
        self._left -= 1
        if self._left == 0:
            _die(self._name)


class _KillAfter:
    def __init__(self, name: str, milliseconds: str) -> None:
        self._timer = threading.Timer(int(milliseconds) / 1000, _die, (name,))
        self._timer.daemon = True

    def pass_by(self) -> None:
        if not self._timer.ident:
            self._timer.start()


class _FailSome:
    def __init__(self, name: str, among: str) -> None:
        # Not every N-th: whoever passes N times between two tries would fail for ever at the same step.
        self._name, self._among, self._chance = name, int(among), random.Random(name)  # noqa: S311 - no secret

    def pass_by(self) -> None:
        if self._chance.randrange(self._among) == 0:
            _fail(self._name)


def _hold_while(file: Path) -> None:
    while file.exists():
        time.sleep(HOLD_LOOK_S)


def _fail_while(name: str, file: Path) -> None:
    if file.exists():
        _fail(name)


def _fail(name: str) -> None:
    raise StoreUnavailable(f"failpoint {name}: the store cannot be used")


def _die(name: str) -> None:
    log.critical("failpoint %s: this process kills itself", name)
    os.kill(os.getpid(), signal.SIGKILL)


_ACTIONS: Mapping[str, Callable[[str, str], Callable[[], None]]] = {
    r"kill(?::([1-9]\d*))?": lambda name, passing: _KillAt(name, passing).pass_by,
    r"kill-after:(\d+)": lambda name, ms: _KillAfter(name, ms).pass_by,
    r"sleep:(\d+)": lambda _, ms: partial(time.sleep, int(ms) / 1000),
    r"hold-while:(/.+)": lambda _, file: partial(_hold_while, Path(file)),
    r"fail:([1-9]\d*)": lambda name, among: _FailSome(name, among).pass_by,
    r"fail-while:(/.+)": lambda name, file: partial(_fail_while, name, Path(file)),
}
