"""Who calls, found out once for a request, and how often somebody may.

A caller that is known has a bucket of its own. Everybody else shares that of the address, whatever token they
show: nobody can use up the requests of another one, and whoever guesses is slowed down. A token of one session,
as a customer's browser has it, has only so many requests open at a time: a stream holds a connection.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from math import ceil
from typing import Final, cast

from falai.web.access.addresses import Proxies, neighbourhood
from falai.web.access.buckets import Buckets
from falai.web.access.callers import Caller
from falai.web.access.heads import App, Head, Message, Receive, Send, value_of
from falai.web.access.keys import Keys
from falai.web.access.lasting import while_valid
from falai.web.access.refusing import problem, refuse
from falai.web.problems import ProblemError, is_away

__all__ = ["Identifying", "caller_in", "token_in"]

_CALLER: Final = "falai.caller"
_OPEN: Final = 64
_BEARER: Final = re.compile(r"bearer +(\S+)", re.IGNORECASE)
_LATER: Final = 1013  # of a WebSocket's close codes
_PROTOCOL: Final = "falai.token."


class Identifying:
    """ASGI: refuses who comes too often (429), and notes the caller. Raises what the ledger raises.

    A stream or WebSocket ends when the token that opened it does.
    """

    def __init__(self, app: App, keys: Keys, rate: str, proxies: Proxies) -> None:
        self._app = app
        self._keys = keys
        self._buckets = Buckets(rate)
        self._open = Counter[str]()
        self._proxies = proxies

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "lifespan":
            await self._app(head, receive, send)
            return
        token = token_in(head)
        wait = self._take(self._whose(head, token))
        if wait is not None:
            seconds = ceil(wait)
            await refuse(head, receive, send, _too_many(f"Come again in {seconds} s.", seconds))
            return
        caller = head[_CALLER] = None if token is None else await self._keys.caller(token)
        if token is None or caller is None:
            await self._app(head, receive, send)
        elif caller.session is not None and self._open[caller.token] >= _OPEN:
            await refuse(head, receive, send, _too_many(f"{_OPEN} requests and streams of this token are open.", 1))
        else:
            await self._with_caller(token, caller.token, head, receive, send)

    async def _with_caller(self, token: str, id: str, head: Head, receive: Receive, send: Send) -> None:
        async def is_valid() -> bool:
            """While the store is away no token can be revoked, and nothing be said: what is open stays so."""
            try:
                return await self._keys.caller(token) is not None
            except Exception as error:
                if not is_away(error):
                    raise
                return True

        async def counting() -> Message:
            """Each message of a WebSocket counts as a request does."""
            message = await receive()
            if message["type"] == "websocket.receive" and self._take(id) is not None:
                await send({"type": "websocket.close", "code": _LATER, "reason": "too many messages"})
                return {"type": "websocket.disconnect", "code": _LATER}
            return message

        self._open[id] += 1
        try:
            await while_valid(self._app, head, counting if head["type"] == "websocket" else receive, send, is_valid)
        finally:
            self._open[id] -= 1
            if not self._open[id]:
                del self._open[id]

    def _take(self, whose: str) -> float | None:
        return self._buckets.take(whose, asyncio.get_running_loop().time())

    def _whose(self, head: Head, token: str | None) -> str:
        known = None if token is None else self._keys.seen(token)
        return known or neighbourhood(self._proxies.client(head))


def _too_many(why: str, seconds: int) -> ProblemError:
    return problem("too-many-requests", why, Retry_After=str(seconds))


def caller_in(head: Head) -> Caller | None:
    """Whose request this is; `None` when that is not known."""
    return cast("Caller | None", head.get(_CALLER))


def token_in(head: Head) -> str | None:
    """The token that a request shows, right or wrong: in `Authorization`, of a WebSocket also among the sub-protocols,
    as `falai.token.<token>`, since a page cannot set a header there.
    """
    found = _BEARER.fullmatch(value_of(head, b"authorization") or "")
    if found is not None or head["type"] != "websocket":
        return None if found is None else found[1]
    shown = (name for name in head.get("subprotocols", ()) if name.startswith(_PROTOCOL))
    return next((name.removeprefix(_PROTOCOL) for name in shown), None)
