"""The ASGI application that clients reach instead of the agent.

Four kinds of path: the agent's JSON-RPC endpoint, its card, its HTTP+JSON operations, and what is not A2A, which
passes through untouched. Which is which is read from the agent's card. This file must not know what an operation
does. The failures it prevents: an address that works at the agent and not at the sidecar, and one that leads past
the journal.
"""

from __future__ import annotations

from sidecar.front.answers import Answers
from sidecar.front.asgi import Receive, Scope, Send, problem
from sidecar.front.attend import Attendance
from sidecar.front.card import AgentSide, CardDesk
from sidecar.front.operations import Operations
from sidecar.front.rest import Rest
from sidecar.front.rpc import JsonRpc
from sidecar.front.settings import FrontSettings
from sidecar.ports import Observer, Tasks


class Front:
    """The A2A server towards clients.

    Args:
        tasks: the runtime.
        agent: the agent's card, and the way through to it.
        settings: see ``FrontSettings``.
        observer: counts and times.
    """

    def __init__(self, tasks: Tasks, agent: AgentSide, settings: FrontSettings, observer: Observer) -> None:
        self._agent = agent
        self._operations = Operations(tasks)
        self._attendance = Attendance()
        self._desk = CardDesk(agent, settings.public_url, settings.card_max_age_s, settings.absent_s)
        answers = Answers(self._operations, self._attendance, settings, observer)
        self._rpc = JsonRpc(answers, settings, observer, self._desk)
        self._rest = Rest(answers, settings, observer, self._desk)

    @property
    def problem(self) -> str | None:
        """Why nothing can be asked here, or only by an older card, for readiness; None where all is well."""
        return self._desk.problem

    @property
    def open_responses(self) -> int:
        """Streams and waiting answers at this moment."""
        return len(self._attendance)

    def drain(self) -> None:
        """End every open stream and waiting answer; what they were about goes on."""
        self._attendance.drain()

    async def close(self) -> None:
        """Wait until what clients began has been handed to the runtime."""
        await self._operations.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1011, "reason": "not served here"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        places = self._desk.places
        if places is None:
            headers = [(b"retry-after", b"1")]
            await problem(send, 503, "The agent is not known yet", self.problem or "", headers)
            return
        path = scope["path"]
        if path in places.rpc:
            if scope["method"] == "POST":
                await self._rpc(scope, receive, send)
            else:
                await problem(send, 405, "Method not allowed", "JSON-RPC is POST only", [(b"allow", b"POST")])
        elif path in places.card:
            if scope["method"] in ("GET", "HEAD"):
                await self._desk.serve(scope, send)
            else:
                await problem(send, 405, "Method not allowed", "a card is read", [(b"allow", b"GET, HEAD")])
        elif match := places.rest.find(scope["method"], path):
            await self._rest(match, scope, receive, send)
        elif places.bypass.fullmatch(path):
            told = "this binding of A2A is not served through the sidecar; see /.well-known/agent-card.json"
            await problem(send, 501, "Not implemented", told)
        elif allowed := places.rest.allowed(path):
            told = f"this operation of A2A is {' or '.join(allowed)}"
            await problem(send, 405, "Method not allowed", told, [(b"allow", ", ".join(allowed).encode())])
        elif places.disguised(scope):
            told = "this path means an A2A endpoint to some servers: write it as it stands in the agent's card"
            await problem(send, 400, "Ambiguous path", told)
        else:
            await self._agent.forward(places.at_agent(scope), receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                await self.close()
                return
