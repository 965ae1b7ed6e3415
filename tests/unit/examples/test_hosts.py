"""What acts 5 and 6 judge: what is destroyed is gone, what is left is read, and hosts that differ are seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridge.journal import Draft, Fence, Kind
from examples.demo import ledger
from examples.demo.cast import DESTROY, KILL_AGENT, Cast, Side
from examples.demo.display import Plain
from examples.demo.evidence import Evidence, journal_facts
from examples.demo.ledger import read_journal
from examples.demo.stage import Home, Stage
from examples.demo.takeover import Scene, strike
from tests.unit.examples.test_acts import Puppet
from tests.unit.examples.test_demo import claimed, exported, step


class Told(Stage):
    """The command line tells what each store was given to tell, the last of it for ever.

    Attributes:
        journals: exports, by the name of the host.
        broken: hosts whose journal does not verify.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.journals: dict[str, list[bytes]] = {}
        self.broken: set[str] = set()
        self.asked: list[str] = []

    async def ask(self, store: str, command: str, *arguments: str) -> tuple[int, bytes, str]:
        host = Path(store.removeprefix("sqlite:///")).parent.name
        if command == "verify":
            self.asked.append(host)
            told = json.dumps({"ok": True, "hash": journal_facts(self.journals[host][0])["hash"]}).encode()
            return (1, b"", "entry 2: broken") if host in self.broken else (0, told, "")
        export, *later = self.journals[host]
        self.journals[host] = later or [export]
        return 0, export, ""


WHOLE = exported(
    (Fence(1, "s1"), [claimed("g-gateway", 0)]),
    (Fence(2, "s2"), [claimed("g-sidecar-B", 0), step(["a"])]),
    (Fence(3, "s3"), [claimed("g-sidecar-A", 1), step(["a", "b"])]),
)
SHORT = b"\n".join(WHOLE.splitlines()[:-1])


def set_up(directory: Path) -> tuple[Scene, Told, list[Home]]:
    stage = Told(directory)
    homes = stage.homes("host-A", "host-B", "host-C")
    puppets = [Puppet(f"g {name}") for name in ("agent A", "sidecar A", "agent B", "sidecar B", "gateway")]
    for puppet, home in zip((puppets[1], puppets[3], puppets[4]), homes, strict=True):
        puppet.home = home
        (home.directory / "journal.db").touch()
    cast = Cast((Side("A", *puppets[:2]), Side("B", *puppets[2:4])), puppets[4])
    puppets[2].says("received")
    evidence = Evidence()
    scene = Scene(stage, Plain(), evidence, evidence.act("five"), cast, DESTROY)
    scene.seen.task_id = "t"
    assert strike(scene)
    return scene, stage, homes


def test_a_destroyed_host_leaves_nothing_and_the_others_everything(tmp_path: Path) -> None:
    scene, _, homes = set_up(tmp_path)
    assert [home.directory.exists() for home in homes] == [True, False, True]
    assert scene.cast.stores() == {"gateway": homes[2].store, "sidecar A": homes[0].store}
    assert "its journals are deleted" in scene.evidence.timeline[-1].what


def test_hosts_share_no_directory_and_know_one_another(tmp_path: Path) -> None:
    homes = Stage(tmp_path).homes("one", "two", "three")
    assert len({home.store for home in homes}) == len({home.peer_port for home in homes}) == 3
    assert {home.peers for home in homes} == {",".join(f"http://127.0.0.1:{home.peer_port}" for home in homes)}


async def test_what_reaches_a_host_a_moment_later_is_waited_for(tmp_path: Path) -> None:
    scene, stage, _ = set_up(tmp_path)
    stage.journals = {"host-A": [WHOLE], "host-C": [SHORT, SHORT, WHOLE]}
    facts = await read_journal(scene)
    assert [check.kept for check in scene.act.checks] == [True, True]
    assert set(facts["hosts"].values()) == {journal_facts(WHOLE)["hash"]}
    assert facts["covered"] == ["a"]
    assert stage.asked == ["host-C", "host-A"] * 3


@pytest.mark.parametrize("fault", ["differs", "broken", "alone"])
async def test_hosts_that_do_not_agree_are_seen(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "AGREE_S", 0.05)
    scene, stage, _ = set_up(tmp_path)
    stage.journals = {"host-A": [WHOLE], "host-C": [SHORT if fault == "differs" else WHOLE]}
    stage.broken = {"host-C"} if fault == "broken" else set()
    if fault == "alone":
        scene.cast.sides[0].sidecar.fate = "killed"
    await read_journal(scene)
    assert [check.kept for check in scene.act.checks] == [False, True]


def set_up_a_pair(directory: Path) -> tuple[Scene, Told, list[Home]]:
    stage = Told(directory)
    homes = stage.homes("pair-A", "pair-B", told="--pair")
    puppets = [Puppet(f"g {name}") for name in ("agent A", "sidecar A", "agent B", "sidecar B")]
    for puppet, home in zip((puppets[1], puppets[3]), homes, strict=True):
        puppet.home = home
        (home.directory / "journal.db").touch()
    cast = Cast((Side("A", *puppets[:2]), Side("B", *puppets[2:4])), pair=True)
    puppets[0].says("received")
    evidence = Evidence()
    scene = Scene(stage, Plain(), evidence, evidence.act("six"), cast, KILL_AGENT)
    scene.seen.task_id = "t"
    assert strike(scene)
    return scene, stage, homes


PAIRED = exported(
    (Fence(1, "s1"), [claimed("g-sidecar-A", 0), step(["a"])]),
    (Fence(2, "s2"), [claimed("g-sidecar-B", 1), step(["a", "b"]), Draft(Kind.COMPLETED, b"{}")]),
)


async def test_of_a_pair_the_host_that_took_the_task_in_goes_before_the_other_ones_journal_is_read(
    tmp_path: Path,
) -> None:
    scene, stage, homes = set_up_a_pair(tmp_path)
    stage.journals = {"pair-B": [PAIRED]}
    facts = await read_journal(scene)
    assert [check.kept for check in scene.act.checks] == [True, True]
    assert [home.directory.exists() for home in homes] == [False, True]
    assert stage.asked == ["pair-B"]
    assert facts["covered"] == ["a"]
    assert "sidecar A" in scene.evidence.timeline[-1].what


@pytest.mark.parametrize("fault", ["broken", "short"])
async def test_what_the_other_host_lacks_is_seen(tmp_path: Path, fault: str) -> None:
    scene, stage, _ = set_up_a_pair(tmp_path)
    stage.journals = {"pair-B": [PAIRED if fault == "broken" else b"\n".join(PAIRED.splitlines()[:-1])]}
    stage.broken = {"pair-B"} if fault == "broken" else set()
    await read_journal(scene)
    assert [check.kept for check in scene.act.checks] == [False, True]
