"""Streams of lines: in as they arrive, out as they are ready."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from app.server.aside import lift_ceiling


class LineStream(Response):
    """Lines sent as they come. (A StreamingResponse would consume the request's body.)"""

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines, until the last one or until the client disconnects."""
        lift_ceiling()
        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        await send(start)
        with suppress(ClientDisconnect):
            async with aclosing(self._lines):
                async for line in self._lines:
                    await send({"type": "http.response.body", "body": line, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def body_lines(request: Request, limit: int) -> AsyncIterator[bytes | None]:
    """The lines of the body; None for one of more than *limit* bytes."""
    async for lines in arrivals_of(request, limit):
        for line in lines:
            yield line


async def arrivals_of(request: Request, limit: int) -> AsyncIterator[list[bytes | None]]:
    """The lines of the body that are complete, each time some arrive; None for one too long."""
    rest, skipping = b"", False
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        found: list[bytes | None] = [line if len(line) <= limit else None for line in lines]
        if skipping and found:
            found[0], skipping = None, False
        if len(rest) > limit:
            rest, skipping = b"", True
        yield found
    if rest or skipping:
        yield [None if skipping else rest]
