"""What a sidecar without a vote may be told."""

from __future__ import annotations

from sidecar.config import load, ready_to_run
from tests.unit.test_config import AGENT, HOME, SECRET, refusal


def test_who_joins_has_no_vote() -> None:
    joined = {"gateway": "true", "name": "a", "join": "http://10.0.0.1:8473", "cluster_secret": SECRET}
    config = ready_to_run(load(joined, HOME))
    assert (config.peer_urls, config.peers) == (("http://10.0.0.1:8473",), "")
    assert config.peer_host == "0.0.0.0"
    assert "a sidecar has a vote or has none" in refusal({**joined, "peers": "http://10.0.0.1:8473"})
    assert "--pair and --join" in refusal({**joined, "pair": "http://10.0.0.1:8473,http://10.0.0.2:8473"})
    assert "nothing would authenticate" in refusal({k: v for k, v in joined.items() if k != "cluster_secret"})
    standby = ready_to_run(load({"name": "b", "join": "http://127.0.0.1:1", **AGENT}, HOME))
    assert (standby.peer_host, standby.gateway) == ("127.0.0.1", False)
    assert "--peer-port" in refusal({**joined, "peer_port": "8470"})
