"""A limit on the bytes of a page, whatever it shows."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.core.translation import translate
from app.server.aside import current_payer

MOST = 1 << 20  # bytes of a page, before it is compressed
_KINDS = (b"text/html", b"application/json", b"image/svg+xml")


class PageLimit:
    """ASGI middleware that refuses pages of more than *most* bytes to those who are not known.

    Streams and downloads have no limit, nor have the lists of a class that its people look at.
    """

    def __init__(self, app: ASGIApp, most: int = MOST) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on.

        Raises:
            HTTPException: 422, the page is too large.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limited = _LimitedResponse(send, self._most)
        await self._app(scope, receive, limited)
        if limited.size:
            raise HTTPException(422, translate("the page would have {size:,} bytes: ask for less", size=limited.size))


class _LimitedResponse:
    """Holds the start of a response back until the size of its page is known."""

    def __init__(self, send: Send, most: int) -> None:
        self._send = send
        self._most = most
        self._start: Message | None = None
        self.size = 0  # bytes of a page that was too large

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            if not self.size:
                await self._send(message)
        elif self._is_too_large(message):
            self.size, self._start = len(message["body"]), None
        else:
            start, self._start = self._start, None
            await self._send(start)
            await self._send(message)

    def _is_too_large(self, message: Message) -> bool:
        whole = not message.get("more_body", False)
        return whole and len(message.get("body", b"")) > self._most and not current_payer().is_known


def _is_page(message: Message) -> bool:
    headers = dict(message["headers"])
    kind = headers.get(b"content-type", b"")
    return kind.startswith(_KINDS) and b"content-disposition" not in headers
