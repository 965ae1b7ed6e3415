"""Failpoints: off unless asked for twice, and every place in the code has its line in the one table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bridge.journal import TERMINAL, Kind
from sidecar import failpoints
from sidecar.errors import ConfigError
from tests.architecture.sources import ROOT, sources


def given(text: str, consent: str = "1") -> dict[str, str]:
    return {"DHP_FAILPOINTS": text, "DHP_FAILPOINTS_OK": consent}


def armed(text: str, code: str) -> subprocess.CompletedProcess[str]:
    program = f"import os\nfrom sidecar import failpoints\nfailpoints.arm(os.environ)\n{code}\nprint('alive')"
    return subprocess.run(
        [sys.executable, "-c", program], env=given(text), cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_nothing_is_armed_by_default_or_without_consent() -> None:
    failpoints.arm({})
    failpoints.arm(given(""))
    for consent in ("", "0", "true"):
        with pytest.raises(ConfigError, match="kill itself"):
            failpoints.arm(given("accept.before_commit=kill", consent))
    assert not failpoints.ARMED
    failpoints.reach("accept.before_commit")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("accept.before_comit=kill", "nearest is accept.before_commit"),
        ("accept.before_commit", "no action"),
        ("accept.before_commit=kill:0", "no action"),
        ("accept.before_commit=kill:", "no action"),
        ("accept.before_commit=sleep", "no action"),
        ("accept.before_commit=exit", "no action"),
        ("accept.before_commit=fail:0", "no action"),
        ("accept.before_commit=fail-while:", "no action"),
        ("accept.before_commit=hold-while:beside", "no action"),
    ],
)
def test_what_is_not_known_is_an_error_that_names_the_nearest(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        failpoints.arm(given(text))
    assert said in str(wrong.value)
    assert not failpoints.ARMED


def test_a_process_dies_at_the_passing_that_was_named() -> None:
    reach = "failpoints.reach('claim.granted')"
    assert armed("claim.granted=kill:2", reach).stdout == "alive\n"
    assert armed("claim.granted=kill:2", f"{reach};{reach}").returncode == -9
    assert armed("claim.granted=kill", "failpoints.reach_each(['event', 'event'], 'after_commit')").returncode == 0
    assert armed("event.after_commit=kill", "failpoints.reach_each(['event'], 'after_commit')").returncode == -9
    slow = "import time;began=time.monotonic();" + reach + ";assert time.monotonic() - began >= .03"
    assert armed("claim.granted=sleep:30", slow).stdout == "alive\n"
    assert armed("claim.granted=kill-after:10", f"{reach};{reach};import time;time.sleep(20)").returncode == -9


def test_a_process_fails_and_waits_as_long_as_it_was_told_to(tmp_path: Path) -> None:
    reach = "failpoints.reach('store.before_read')"
    tried = f"""
def passed():
    try:
        {reach}
    except Exception as error:
        return error.code
    return 'passed'
"""
    some = [
        armed("store.before_read=fail:3", f"{tried}\nprint(*(passed() for _ in range(600)))") for _ in range(2)
    ]
    assert some[0].stdout == some[1].stdout
    assert 150 < some[0].stdout.split().count("store_unavailable") < 250
    (file := tmp_path / "go").touch()
    unlink = f"from pathlib import Path; Path({str(file)!r}).unlink()"
    while_it_is_there = armed(
        f"store.before_read=fail-while:{file}", f"{tried}\nprint(passed())\n{unlink}\nprint(passed())"
    )
    assert while_it_is_there.stdout.split() == ["store_unavailable", "passed", "alive"]
    file.touch()
    held = f"""
import threading
passing = threading.Thread(target=lambda: {reach})
passing.start()
passing.join(0.1)
print(passing.is_alive())
{unlink}
passing.join()
"""
    assert armed(f"store.before_read=hold-while:{file}", held).stdout == "True\nalive\n"


def test_every_place_that_is_passed_stands_in_the_table_and_the_other_way_round() -> None:
    passed: set[str] = set()
    for source in sources("sidecar"):
        passed |= set(re.findall(r'\breach\("([a-z_.]+)"\)', source.text))
        moments = re.findall(r'_pass\([a-z.]+, "([a-z_]+)"\)', source.text)
        kinds = {"terminal" if kind in TERMINAL else kind.value for kind in Kind}
        written_by_owners = kinds - {"dispatched", "claimed", "spend", "resolved", "voters", "push"}
        passed |= {f"{kind}.{moment}" for kind in written_by_owners for moment in moments}
    assert passed == set(failpoints.POINTS)
