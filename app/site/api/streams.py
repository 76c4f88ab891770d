"""Streams of lines: in as they arrive, out as they are ready, and the order of what they store."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress

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


class Turn:
    """A place in the order in which the answers of one learner are stored."""

    def __init__(self, before: asyncio.Event | None) -> None:
        self._before, self.passed = before, asyncio.Event()

    async def wait(self) -> None:
        """Wait until all earlier answers are on their way to the disk, or refused."""
        if self._before is not None:
            await self._before.wait()

    async def __aenter__(self) -> None:
        """Begin when it is the turn of this answer."""
        await self.wait()

    async def __aexit__(self, *_: object) -> None:
        """Let the next answer follow."""
        self.passed.set()


class Turns:
    """The order in which the answers of each learner were sent."""

    def __init__(self) -> None:
        self._last: dict[str, Turn] = {}

    @asynccontextmanager
    async def next(self, learner: str) -> AsyncGenerator[Turn]:
        """The turn of the next answer of *learner*; it passes at the end even if nothing was stored."""
        before = self._last.get(learner)
        turn = self._last[learner] = Turn(before.passed if before else None)
        try:
            yield turn
        finally:
            try:
                await turn.wait()
            finally:  # also if it is canceled here, or the next ones would wait for ever
                turn.passed.set()
                if self._last.get(learner) is turn:
                    del self._last[learner]
