"""The A2A client that drives the agent beside this sidecar.

    link       HttpAgentLink: ports.AgentLink over JSON-RPC
    group      GroupLink: ports.AgentLink of a gateway, which has no agent
    presence   is the agent there, what does its card say
    run, poll  one request: streamed, or asked for again and again
    sse        events from bytes
    wire       connections and bounded answers
    headers    which headers travel
    answers    what answers and faults mean
    card       which URL of the card we speak to
    passthrough  everything that is not A2A

Decision 0003 tells why it stands on aiohttp.
"""

from sidecar.agent.group import GroupLink, GroupView
from sidecar.agent.link import HttpAgentLink
from sidecar.agent.passthrough import Passed
from sidecar.agent.wire import AgentSettings

__all__ = ["AgentSettings", "GroupLink", "GroupView", "HttpAgentLink", "Passed"]
