"""No request may send more than the server wants to hold."""

from collections.abc import Collection

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import problem


class BodyLimit:
    """Refuses bodies of more than *limit* bytes, except at the paths *streamed*."""

    def __init__(self, app: ASGIApp, limit: int, streamed: Collection[str]) -> None:
        self._app = app
        self._limit = limit
        self._streamed = streamed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting."""
        if scope["type"] != "http" or scope["path"] in self._streamed:
            await self._app(scope, receive, send)
            return
        says = f"a body has at most {self._limit:,} bytes"
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > self._limit:
            await problem(413, says)(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(413, says)
            return message

        await self._app(scope, counted, send)
