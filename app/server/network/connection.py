"""A connection with time limits: slow, endless and idle ones are closed."""

import asyncio
import socket
from enum import Enum, auto
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.server.network.guard import GUARD, LOOK, PEER, Guard
from app.server.network.head import HEADERS

_LINGER = 0.3  # seconds in which a request may arrive that was sent before the server stopped
_MANY = 2 * HEADERS  # bytes; fewer than these are refused by the door, with an error page
_TOO_LARGE = "the headers are too large"
_MAPPED = "::ffff:"  # before the IPv4 address of a client, if one socket listens for both


class _Awaits(Enum):
    """The part of a request that the server waits for."""

    REQUEST = auto()
    HEAD = auto()
    BODY = auto()
    NOTHING = auto()


class Connection(HttpToolsProtocol):
    """Uvicorn's HTTP protocol, within the limits of the guard."""

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
        """Admit the connection, or refuse it if there are too many."""
        super().connection_made(transport)
        self.client = _peer(transport, self.client)
        self.address = self.client[0] if self.client else ""
        if not self._guard.admits(self):
            self._refuse(503, "too many connections are open; close some, or try again later")

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the guard that the connection is closed."""
        self._guard.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, but refuse a head that never ends."""
        if self.transport.is_closing():
            return
        self._flowed = self.loop.time()
        if self._awaits is _Awaits.HEAD:
            self._head += len(data)
        super().data_received(data)
        # The parser reports a header only once it is complete.
        if self._awaits is _Awaits.HEAD and self._head > _MANY:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """Handle the first byte of a request."""
        super().on_message_begin()
        self.scope["state"][PEER] = self.address
        self._await(_Awaits.HEAD)
        self._head = self._named = self._body = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle one header."""
        super().on_header(name, value)
        self._named += len(name) + len(value)
        if self._named > _MANY:
            self._refusal = 431, _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # stops the parser, which then sends the refusal

    def on_headers_complete(self) -> None:
        """Handle the end of the head."""
        self._await(_Awaits.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Handle a chunk of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle the end of the request."""
        answered = self.cycle is None or self.cycle.response_complete
        self._await(_Awaits.REQUEST if answered else _Awaits.NOTHING)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Handle the end of the response; the rest of the body is still awaited."""
        if self._awaits is _Awaits.NOTHING:
            self._await(_Awaits.REQUEST)
        super().on_response_complete()

    def shutdown(self) -> None:
        """Close once the response is sent; an idle connection, once no request is on its way."""
        if self._awaits is _Awaits.REQUEST and not self.transport.is_closing():
            self.loop.call_later(_LINGER, super().shutdown)
        else:
            super().shutdown()

    def send_400_response(self, msg: str) -> None:
        """Refuse the request at which the parser stopped."""
        self._refuse(*(self._refusal or (400, msg)))

    def look(self, now: float) -> None:
        """Close the connection if the client keeps the server waiting."""
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
        """Whether a response can be written: a request has begun, and no response has."""
        if self._awaits is _Awaits.HEAD:
            return self.cycle is None or self.cycle.response_complete
        return self._awaits is _Awaits.BODY and not self.cycle.response_started

    def _await(self, what: _Awaits) -> None:
        self._awaits, self._since = what, self.loop.time()

    def _refuse(self, status: int, says: str) -> None:
        """Respond in place of the app, and close."""
        text = says.encode()
        head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        head += [(b"x-content-type-options", b"nosniff"), (b"content-length", b"%d" % len(text))]
        lines = [b"%s: %s\r\n" % line for line in (*self.server_state.default_headers, *head)]
        self.transport.write(b"".join([STATUS_LINE[status], *lines, b"\r\n", text]))
        self.transport.close()


def _peer(transport: asyncio.Transport, client: tuple[str, int] | None) -> tuple[str, int] | None:
    """Who has connected; a program at a Unix socket is on this machine, as one at the loopback."""
    connected = transport.get_extra_info("socket")
    if client is None and connected is not None and connected.family == socket.AF_UNIX:
        return "127.0.0.1", 0
    if client and client[0].startswith(_MAPPED) and "." in client[0]:
        return client[0].removeprefix(_MAPPED), client[1]
    return client
