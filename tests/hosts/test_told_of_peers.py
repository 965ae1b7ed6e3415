"""What the operators of a cluster read in its logs: what happened, to whom, what to do; once, and its end."""

from __future__ import annotations

import json
import signal
from functools import partial
from typing import Any

from tests.hosts.peers import cluster
from tests.integration.agents import free_port
from tests.integration.stage import SidecarProcess, Stage, wait_for
from tests.integration.test_told_to_operators import logged

USUAL: dict[str, Any] = {"lease__ttl_ms": 3000, "lease__margin_ms": 300}


def alarms(sidecar: SidecarProcess) -> list[str]:
    """Messages above INFO."""
    lines = (json.loads(line) for line in sidecar.lines() if line.startswith("{"))
    return [each["message"] for each in lines if each["level"] not in ("debug", "info")]


def address(sidecar: SidecarProcess, options: str = "DHP_SIDECAR_PEER_PORT") -> str:
    """Its peer port."""
    return f"http://127.0.0.1:{sidecar._env[options]}"


async def test_every_host_says_who_the_members_are_and_a_start_is_no_alarm(stage: Stage) -> None:
    hosts = cluster(stage, [stage.agent("long") for _ in range(3)], **USUAL)
    await stage.ready()
    for each in hosts:
        await wait_for(partial(logged, each, "this cluster has 3 members"))
        ((level, told),) = logged(each, "this cluster has 3 members")
        assert level == "info"
        for other in hosts:
            where = "(this sidecar)" if other is each else f"at {address(other)}"
            assert f"{other.name} {where}" in told
        ((level, told),) = logged(each, "this sidecar itself")
        assert (level, told) == ("info", f"{address(each)} in --peers is this sidecar itself")
        assert alarms(each) == []
        # It is no refusal either, and nothing is dialled again and again.
        assert await stage.metric(each, "peers_refused") == 0


async def test_a_host_that_dies_and_returns_is_one_line_each(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)], **USUAL)
    await stage.ready()
    c.kill()
    for each in (a, b):
        await wait_for(partial(alarms, each))
    await stage.restart(c)
    for each in (a, b):
        await wait_for(partial(logged, each, "connected to peer c", "again after"))
        (told,) = alarms(each)
        assert told.startswith(f"peer c at {address(c)} was lost: the connection was cut, and cannot be reached: ")
        refused = f"connection refused, nothing listens on port {address(c).rpartition(':')[2]} there"
        # Whoever dials while it dies still meets its listener.
        whys = (refused, "it closed the connection at once", "the connection was cut")
        assert told.endswith(tuple(f"{why}; it is dialled until it answers" for why in whys)), told
        ((level, told),) = logged(each, "connected to peer c", "again after")
        assert (level, told.endswith(": it was started anew")) == ("info", True)
    assert alarms(c) == []  # its lines had no time to come up, and that is nothing


async def test_no_majority_is_told_once_with_who_is_missing_and_its_end(stage: Stage) -> None:
    """A session lasts 0.8 s: some ten renewals fail."""
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)])
    await stage.ready()
    b.kill()
    c.kill()
    renewals = await stage.metric(a, "renewal_failures")

    async def failed() -> bool:
        return await stage.metric(a, "renewal_failures") >= renewals + 10

    await wait_for(failed)
    (told,) = [each for each in alarms(a) if "could not be renewed" in each]
    assert "1 of 3 members stand by it, a majority is needed: " in told
    for each in (b, c):
        assert f"peer {each.name} at {address(each)} " in told
    assert len([each for each in alarms(a) if "the session has lapsed" in each]) == 1
    (reason,) = [each for each in await stage.reasons(a) if "renewed" in each]
    assert f"peer b at {address(b)} cannot be reached: connection refused" in reason
    await stage.restart(b)
    await wait_for(lambda: logged(a, "the session is renewed again, after"))
    assert len(logged(a, "the session is renewed again")) == 1


async def test_who_is_missing_where_a_cluster_is_not_formed_and_why(stage: Stage) -> None:
    agents = [stage.agent("long") for _ in range(2)]
    nobody = f"http://127.0.0.1:{free_port()}"
    ports = [free_port() for _ in agents]
    secrets = "what all of them know", "what nobody else knows"
    peers = ",".join([nobody, *(f"http://127.0.0.1:{port}" for port in ports)])
    a, c = (
        stage.sidecar(
            agent, name, store=f"sqlite:///{stage.directory / name}.db", peer_port=port, peers=peers,
            cluster_secret=secret,
        )
        for agent, name, port, secret in zip(agents, "ac", ports, secrets, strict=True)
    )  # fmt: skip
    await wait_for(lambda: logged(a, "this cluster takes no work yet"))
    ((level, told),) = logged(a, "this cluster takes no work yet")
    assert level == "warning"
    assert f"peer at {nobody} cannot be reached: connection refused" in told
    assert f"peer at {address(c)} is refused: the two have different cluster secrets" in told
    (reason,) = [each for each in await stage.reasons(a) if "cluster" in each]
    assert nobody in reason
    for each, other in ((a, c), (c, a)):
        dialling = logged(each, f"peer at {address(other)}", "refuse", "; give every sidecar")
        assert [level for level, _ in dialling] == ["warning"]
        called = logged(each, f"127.0.0.1, which calls itself {other.name},", "different cluster secrets")
        assert [level for level, _ in called] == ["warning"]
        assert await stage.metric(each, "peers_refused") >= 2
    # Clients are not told where the peers are.
    refused = await stage.rpc(a, "SendMessage", {"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"text": "steps=1"}]}})  # fmt: skip
    assert "takes no work yet" in refused["error"]["message"]
    assert "127.0.0.1" not in refused["error"]["message"]


async def test_a_host_that_stands_still_is_told_of_and_says_so_itself(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)], **USUAL)
    await stage.ready()
    b.signal(signal.SIGSTOP)
    try:
        for each in (a, c):
            await wait_for(partial(alarms, each), 15)
    finally:
        b.signal(signal.SIGCONT)
    for each in (a, c):
        await wait_for(partial(logged, each, "connected to peer b", "again after"))
        assert alarms(each) == [
            f"peer b at {address(b)} was lost: nothing has come from it for 6 s; it is dialled until it answers"
        ]
    await wait_for(lambda: logged(b, "this process stood still for"))
    assert [each for each in alarms(b) if "stood still" not in each and "has lapsed" not in each] == []


async def test_a_host_that_is_told_to_stop_says_goodbye(stage: Stage) -> None:
    a, b, c = cluster(stage, [stage.agent("long") for _ in range(3)], **USUAL)
    await stage.ready()
    c.signal(signal.SIGTERM)
    assert await c.exited() == 0
    for each in (a, b):
        await wait_for(partial(alarms, each))
        (told,) = alarms(each)
        assert told.startswith(f"peer c at {address(c)} was lost: it was stopped, and cannot be reached")
    assert alarms(c) == []
