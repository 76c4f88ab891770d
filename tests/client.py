"""A client of the app that is in its event loop once a request, where Starlette's is eight times."""

from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import httpx2
from fastapi.testclient import TestClient

from tests.waiting import HANGS, wait_until


class Client(TestClient):
    """Starlette's client for whole responses; nothing is streamed. Its *address* may be changed."""

    address = "testclient"

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._transport = _Transport(self)


def until_ready(client: TestClient) -> None:
    """Wait until its sandbox runs programs; the first one on a machine is built before."""
    wait_until(lambda: client.get("/readyz").json().get("sandbox") == "ready", 5 * HANGS)


class _Pieces(httpx2.AsyncByteStream):
    """A body as it is sent, piece by piece."""

    def __init__(self, body: httpx2.SyncByteStream) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._body:
            yield piece


class _Transport(httpx2.BaseTransport):
    def __init__(self, client: Client) -> None:
        self._client = client
        self._asgi = httpx2.ASGITransport(self._app)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        assert self._client.portal, "the app runs between the entry and the exit of `with`"
        status, headers, body = self._client.portal.call(self._answer, request)
        stream = httpx2.ByteStream(body)
        return httpx2.Response(status, headers=headers, stream=stream, request=request)

    async def _answer(self, request: httpx2.Request) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        assert isinstance(request.stream, httpx2.SyncByteStream)
        request.stream = _Pieces(request.stream)
        answer = await self._asgi.handle_async_request(request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        body = b"".join([part async for part in answer.stream])
        return answer.status_code, answer.headers.raw, body

    async def _app(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        here = {"state": self._client.app_state.copy(), "client": (self._client.address, 50_000)}
        await self._client.app({**scope, **here}, receive, send)
