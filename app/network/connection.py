"""A connection of the server that is closed where it keeps the server waiting."""

import asyncio
from enum import Enum, auto
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.network.guard import GUARD, LOOK, Guard
from app.network.head import HEADERS

_MANY = 2 * HEADERS  # bytes; what has fewer is refused by the door, with a page
_TOO_LARGE = "the headers are too large"


class _Awaits(Enum):
    """What the server awaits of a visitor."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    NOTHING = auto()


class Connection(HttpToolsProtocol):
    """What uvicorn does, and no longer than the guard's limits allow."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._guard: Guard = app_state[GUARD]
        self.address = ""
        self._awaits, self._since = _Awaits.REQUEST, self.loop.time()
        self._head = self._named = self._body = 0  # bytes of this request
        self._unread, self._flowed = 0, self._since
        self._refusal: tuple[int, str] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A visitor is there."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if not self._guard.admits(self):
            self._refuse(503, "too many connections are open; close some, or try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """The visitor has gone."""
        self._guard.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, but no head that never ends."""
        if self.transport.is_closing():
            return
        self._flowed = self.loop.time()
        if self._awaits is _Awaits.HEAD:
            self._head += len(data)
        super().data_received(data)
        # The parser tells of a header once it is whole.
        if self._awaits is _Awaits.HEAD and self._head > _MANY:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._await(_Awaits.HEAD)
        self._head = self._named = self._body = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header."""
        super().on_header(name, value)
        self._named += len(name) + len(value)
        if self._named > _MANY:
            self._refusal = 431, _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # stops the parser, which has the refusal sent

    def on_headers_complete(self) -> None:
        """The whole head."""
        self._await(_Awaits.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The whole request."""
        answered = self.cycle is None or self.cycle.response_complete
        self._await(_Awaits.REQUEST if answered else _Awaits.NOTHING)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The whole answer; what is left of the body is still awaited."""
        if self._awaits is _Awaits.NOTHING:
            self._await(_Awaits.REQUEST)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser stopped at."""
        self._refuse(*(self._refusal or (400, msg)))

    def look(self, now: float) -> None:
        """Close where the visitor keeps the server waiting."""
        unread = self.transport.get_write_buffer_size()
        if self.flow.read_paused:  # it is the server that is slow
            self._since += LOOK
            self._flowed = now
        if unread != self._unread:
            self._unread, self._flowed = unread, now
        if self._is_late(now):
            if self._may_tell():
                self._refuse(408, "the request did not arrive in time")
            self.transport.close()
        elif unread and now - self._flowed > self._guard.limits.still:
            self.transport.abort()

    def _is_late(self, now: float) -> bool:
        limits, waited = self._guard.limits, now - self._since
        if self._awaits is _Awaits.NOTHING or self.transport.is_closing():
            return False
        if self._awaits is not _Awaits.BODY:
            return waited > limits.patience
        if self.cycle.response_started and not self.cycle.response_complete:  # a stream
            return now - self._flowed > limits.still
        return waited > limits.patience + self._body / limits.pace

    def _may_tell(self) -> bool:
        """Whether an answer can be written: something was asked, and nothing answered yet."""
        if self._awaits is _Awaits.HEAD:
            return self.cycle is None or self.cycle.response_complete
        return self._awaits is _Awaits.BODY and not self.cycle.response_started

    def _await(self, what: _Awaits) -> None:
        self._awaits, self._since = what, self.loop.time()

    def _refuse(self, status: int, says: str) -> None:
        """Answer in place of the app, and close."""
        text = says.encode()
        head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        head += [(b"x-content-type-options", b"nosniff"), (b"content-length", b"%d" % len(text))]
        lines = [b"%s: %s\r\n" % line for line in (*self.server_state.default_headers, *head)]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", text]))
        self.transport.close()
