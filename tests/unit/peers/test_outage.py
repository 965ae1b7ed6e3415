"""What the log is told of a line to a peer: who, what happened, what to do; each once."""

from __future__ import annotations

import logging

import pytest

from sidecar.peers.outage import AWAY, GRACE_S, SILENT, Fault, Outage, reason, remedy
from sidecar.peers.sealing import Rejected, Rejection

URL = "http://c:8473"
NAME = f"peer c at {URL}"
CUT = Fault("lost", "was lost: the connection was cut")
MUTE = Fault(SILENT, "was lost: nothing has come from it for 6 s")
GONE = Fault(AWAY, "cannot be reached: connection refused")
LATE = Fault(SILENT, "cannot be reached: it does not answer in time")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def shown(lines: pytest.LogCaptureFixture) -> list[str]:
    return [f"{each.levelname} {each.getMessage()}" for each in lines.records]


def test_a_peer_that_dies_and_returns_is_two_lines(lines: pytest.LogCaptureFixture) -> None:
    outage = Outage(URL, 0)
    outage.up(NAME, 1, anew=False)
    lines.clear()
    outage.lost(NAME, CUT, 10)
    assert shown(lines) == []
    for at in range(11, 100):
        outage.down(NAME, GONE, at)
    outage.up(NAME, 100, anew=True)
    died, returned = shown(lines)
    assert died == (
        f"WARNING {NAME} was lost: the connection was cut, and cannot be reached: connection refused; "
        "it is dialled until it answers"
    )
    assert returned == f"INFO connected to {NAME} again after 90.0 s: it was started anew"
    assert {vars(each)["peer"] for each in lines.records} == {URL}


def test_silence_is_told_when_it_is_noticed_and_not_once_more_by_the_dials(
    lines: pytest.LogCaptureFixture,
) -> None:
    outage = Outage(URL, 0)
    outage.up(NAME, 1, anew=False)
    lines.clear()
    outage.lost(NAME, MUTE, 10)
    assert shown(lines) == [
        f"WARNING {NAME} was lost: nothing has come from it for 6 s; it is dialled until it answers"
    ]
    for fault in (LATE, GONE, LATE):
        outage.down(NAME, fault, 20)
    assert len(shown(lines)) == 1


def test_a_connection_that_is_made_anew_at_once_is_no_alarm(lines: pytest.LogCaptureFixture) -> None:
    outage = Outage(URL, 0)
    outage.up(NAME, 1, anew=False)
    outage.lost(NAME, CUT, 10)
    outage.up(NAME, 10.1, anew=False)
    assert shown(lines) == [
        f"INFO connected to {NAME}",
        f"INFO {NAME} was lost: the connection was cut, and is connected again at once",
    ]


def test_who_was_never_met_has_a_moment_to_start(lines: pytest.LogCaptureFixture) -> None:
    outage = Outage(URL, 0)
    outage.down(NAME, GONE, GRACE_S / 2)
    assert shown(lines) == []
    outage.down(NAME, GONE, GRACE_S + 1)
    outage.down(NAME, GONE, GRACE_S + 2)
    outage.up(NAME, GRACE_S + 3, anew=False)
    assert shown(lines) == [
        f"WARNING {NAME} cannot be reached: connection refused; it is dialled until it answers",
        f"INFO connected to {NAME} after 8.0 s",
    ]


def test_a_refusal_is_told_at_once_and_its_end_too(lines: pytest.LogCaptureFixture) -> None:
    outage, why = Outage(URL, 0), Rejected(Rejection.SECRET)
    fault = Fault("secret", f"is refused: {reason(why)}", remedy(why))
    for at in range(5):
        outage.down(NAME, fault, at, refused=True)
    (line,) = shown(lines)
    assert line == (
        f"WARNING {NAME} is refused: the two have different cluster secrets (secret); give every sidecar of the "
        "cluster the same --cluster-secret-file, and restart the one that had another"
    )


def test_an_address_of_this_sidecar_itself_is_no_alarm(lines: pytest.LogCaptureFixture) -> None:
    outage = Outage(URL, 0)
    outage.itself(1)
    outage.itself(61)
    assert shown(lines) == [f"INFO {URL} in --peers is this sidecar itself"]


@pytest.mark.parametrize("code", Rejection)
def test_every_refusal_has_words(code: Rejection) -> None:
    told = reason(Rejected(code, "some detail"))
    assert str(code) in told
    assert told != str(code)


def test_a_detail_of_the_other_side_is_told_as_its_word() -> None:
    why = Rejected(Rejection.VERSION, "versions 2 to 3 there, 1 to 1 here", told=True)
    assert reason(why).endswith("(version: it says: versions 2 to 3 there, 1 to 1 here)")
