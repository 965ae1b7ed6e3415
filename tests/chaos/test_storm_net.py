"""A short storm over hosts in network namespaces, whose network fails as well."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chaos.net.hosts import permitted
from tests.chaos.storm import report
from tests.chaos.storm.links import ACTIONS, HOSTS, schedule

SEED = 3


@pytest.mark.slow
def test_a_short_storm_over_real_hosts_breaks_no_promise(tmp_path: Path) -> None:
    if why := permitted():
        pytest.skip(why)
    told_in = tmp_path / "told.json"
    command = [sys.executable, "-m", "tests.chaos.storm", "--net", "--seed", str(SEED), "--minutes", "0.15"]
    ran = subprocess.run(
        [*command, "--clients", "5", "--json", str(told_in)], capture_output=True, check=False, timeout=120
    )
    assert told_in.exists(), ran.stderr.decode()[-2000:]
    told = json.loads(told_in.read_text())
    assert report.clean(told), report.text(told)
    assert told["tasks"] >= 5
    assert told["frames"]["lost"] > 0, "its network never failed"


@pytest.mark.parametrize("seed", range(5))
def test_a_seed_is_a_schedule_in_which_everything_of_the_network_fails(seed: int) -> None:
    faults = schedule(seed, 300, 3.0)
    assert faults == schedule(seed, 300, 3.0) != schedule(seed + 1, 300, 3.0)
    assert {fault.action for fault in faults} == set(ACTIONS)
    assert {target for fault in faults for target in fault.targets} == set(HOSTS)
    assert all(a.at + a.hold <= b.at for a, b in itertools.pairwise(faults)), "one at a time"
