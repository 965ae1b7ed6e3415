"""The store of a sidecar and its session in it: alone, among peers, in a pair, or joined to peers.

This file must not know what any of the four does. The failure it prevents: a store that is opened on
other terms than the options say.
"""

from __future__ import annotations

import socket

from sidecar.config import Config
from sidecar.peers.cluster import Cluster, role_of
from sidecar.peers.clusterstore import ClusterStore
from sidecar.peers.joined import Joined
from sidecar.peers.joinedstore import JoinedStore
from sidecar.peers.pairstore import PairStore
from sidecar.ports import Clock, Observer
from sidecar.store import Session, Store


async def opened(
    config: Config, observer: Observer, clock: Clock, listener: socket.socket | None
) -> tuple[Store, Session, Cluster | None]:
    """The store of a sidecar, alone or among peers, and its session in it.

    Raises:
        StoreError: it cannot be opened; among peers also where another process uses it.
    """
    ttl_ms, margin_ms, role = config.lease.ttl_ms, config.lease.margin_ms, role_of(config)
    if listener is None:
        store = await Store.open(config.store, ttl_ms=ttl_ms, margin_ms=margin_ms)
        session = await store.sessions.register(config.name, group=config.group, role=role, url=config.public_url)
        return store, session, None
    if config.join:
        joined = await JoinedStore.open(config.store, ttl_ms=ttl_ms, margin_ms=margin_ms, alone=False)
        cluster: Cluster = Joined(config, joined, observer, clock, listener)
        return joined, await cluster.begin(role), cluster
    kind = PairStore if config.pair else ClusterStore
    own = await kind.open(config.store, ttl_ms=ttl_ms, margin_ms=margin_ms, alone=False)
    cluster = Cluster(config, own, observer, clock, listener)
    return own, await cluster.begin(role), cluster
