"""The queue of writers: in order, across processes, never stuck behind the dead or the stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sidecar.store.turns import PATIENCE_S, Turns

HOLDER = """
import sys; from pathlib import Path; from sidecar.store.turns import Turns
turns = Turns(Path(sys.argv[1])); turns.take(); print("held", flush=True); sys.stdin.readline(); turns.give()
print("given", flush=True); sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "turns"


def holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_alone_a_turn_costs_almost_nothing(path: Path) -> None:
    turns = Turns(path)
    began = time.process_time()
    for _ in range(1000):
        turns.take()
        turns.give()
    assert time.process_time() - began < 0.2
    assert turns.passed == 0
    turns.close()


def test_turns_come_in_the_order_of_asking(path: Path) -> None:
    queues = [Turns(path) for _ in range(5)]
    order: list[int] = []
    queues[0].take()

    def wait(index: int) -> None:
        queues[index].take()
        order.append(index)
        queues[index].give()

    threads = []
    for index in range(1, 5):
        threads.append(threading.Thread(target=wait, args=(index,)))
        threads[-1].start()
        time.sleep(0.02)  # so that they ask in this order
    assert order == []
    queues[0].give()
    for thread in threads:
        thread.join()
    assert order == [1, 2, 3, 4]
    for queue in queues:
        queue.close()


def test_the_turn_of_a_killed_process_is_free(path: Path) -> None:
    process = holder(path)
    threading.Timer(0.1, process.kill).start()
    turns = Turns(path)
    turns.take()
    assert turns.waited_s < PATIENCE_S
    assert turns.passed == 0
    turns.close()
    process.communicate()


def test_a_stopped_process_delays_others_once(path: Path) -> None:
    process = holder(path)
    process.send_signal(signal.SIGSTOP)
    turns = Turns(path)
    turns.take()
    assert PATIENCE_S <= turns.waited_s < PATIENCE_S + 1
    turns.give()
    turns.take()
    assert turns.waited_s < PATIENCE_S / 4
    assert turns.passed == 1
    turns.give()
    process.send_signal(signal.SIGCONT)
    assert process.communicate("\n\n", timeout=10)[0] == "given\n"
    turns.take()
    assert turns.waited_s < PATIENCE_S / 4
    turns.close()
