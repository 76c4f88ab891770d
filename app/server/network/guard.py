"""Limits on connections, in time and number: one guard for all connections of a process.

A proxy does this, too. But where a process may open 1,024 files, 900 idle connections of one address to a server
without a proxy would leave none to others, if they were not counted.
"""

import asyncio
import resource
import socket
from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from ipaddress import ip_address, ip_network
from typing import Any, Protocol, Self

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from app.server.config import Settings
from app.server.network.head import HEADERS

GUARD = "guard"  # the key of the app's guard, in the state of its lifespan
PEER = "peer"  # in the state of a request: the address of its connection, perhaps a proxy
LOOK = 0.5  # seconds between checks of the connections
_FILES = 65_536  # open files that are enough
_SPARE = 256  # of them reserved for the database, the sandbox and the labs


def raise_files() -> None:
    """Raise the limit on open files of this process, and of those it starts, as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on connections."""

    patience: float  # seconds for a complete head, and for a body that does not arrive
    still: float = 60.0  # seconds for a response that is not read, or a stream that stalls
    pace: float = 1000.0  # bytes per second at which a body is slow, but acceptable
    each: int  # connections of one address
    all: int  # connections in total
    proxies: str = ""  # addresses, or networks, without a limit of their own

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The limits in *settings*, as far as this process may open files."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        files = _FILES if soft == resource.RLIM_INFINITY else soft
        most = max(files - _SPARE, files // 2)
        return cls(
            patience=settings.patience,
            each=min(settings.connections_allowed, most // 2 + 1),
            all=most,
            proxies=settings.proxies,
        )


class GuardedConnection(Protocol):
    """A connection, as the guard sees it."""

    address: str

    def look(self, now: float) -> None:
        """Close the connection if the client keeps the server waiting."""


class Guard:
    """Counts the connections of a process, and checks each of them at intervals."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._open: set[GuardedConnection] = set()
        self._looks = False
        self._by_address: Counter[str] = Counter()
        self._proxies = [
            ip_network(name, strict=False)
            for name in map(str.strip, limits.proxies.split(","))
            if name not in {"", "*"}
        ]

    def admits(self, connection: GuardedConnection) -> bool:
        """Count *connection* until it leaves; whether it is within the limits."""
        if not self._looks:
            self._looks = True
            asyncio.get_running_loop().call_later(LOOK, self._look)
        self._open.add(connection)
        self._by_address[connection.address] += 1
        crowded = self._by_address[connection.address] > self.limits.each
        return len(self._open) <= self.limits.all and not (crowded and not self.is_proxy(connection.address))

    def leave(self, connection: GuardedConnection) -> None:
        """Stop counting *connection*, which is closed."""
        self._open.discard(connection)
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for connection in tuple(self._open):
            connection.look(now)
        self._looks = bool(self._open)
        if self._looks:
            loop.call_later(LOOK, self._look)

    def is_proxy(self, address: str) -> bool:
        """Whether *address* is that of a trusted proxy."""
        if self.limits.proxies.strip() == "*":
            return True
        try:
            known = ip_address(address)
        except ValueError:
            return False
        return any(known in network for network in self._proxies)


_LINGER = 0.3  # seconds in which a request may arrive that was sent before the server stopped
_MANY = 2 * HEADERS  # bytes; fewer than these are refused by the door, with an error page
_TOO_LARGE = "the headers are too large"
_MAPPED = "::ffff:"  # before the IPv4 address of a client, if one socket listens for both


class _AwaitedPart(Enum):
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
        self._awaits, self._since = _AwaitedPart.REQUEST, self.loop.time()
        self._head = self._body = 0  # bytes of this request
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
        if self._awaits is _AwaitedPart.HEAD:
            self._head += len(data)
        super().data_received(data)
        # The parser reports a header only once it is complete.
        if self._awaits is _AwaitedPart.HEAD and self._head > _MANY:
            self._refuse(431, _TOO_LARGE)

    def on_message_begin(self) -> None:
        """Handle the first byte of a request."""
        super().on_message_begin()
        self.scope["state"][PEER] = self.address
        self._await(_AwaitedPart.HEAD)
        self._head = self._body = 0

    def on_headers_complete(self) -> None:
        """Handle the end of the head."""
        if sum(len(name) + len(value) for name, value in self.headers) > _MANY:
            self._refusal = 431, _TOO_LARGE
            raise ValueError(_TOO_LARGE)  # stops the parser, which then sends the refusal
        self._await(_AwaitedPart.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Handle a chunk of the body."""
        self._body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Handle the end of the request."""
        answered = self.cycle is None or self.cycle.response_complete
        self._await(_AwaitedPart.REQUEST if answered else _AwaitedPart.NOTHING)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Handle the end of the response; the rest of the body is still awaited."""
        if self._awaits is _AwaitedPart.NOTHING:
            self._await(_AwaitedPart.REQUEST)
        super().on_response_complete()

    def shutdown(self) -> None:
        """Close once the response is sent; an idle connection, once no request is on its way."""
        if self._awaits is _AwaitedPart.REQUEST and not self.transport.is_closing():
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
        if self._awaits is _AwaitedPart.NOTHING or self.transport.is_closing():
            return False
        if self._awaits is not _AwaitedPart.BODY:
            return waited > limits.patience
        if self.cycle.response_started and not self.cycle.response_complete:  # a stream
            return now - self._flowed > limits.still
        return waited > limits.patience + self._body / limits.pace

    def _may_tell(self) -> bool:
        """Whether a response can be written: a request has begun, and no response has."""
        if self._awaits is _AwaitedPart.HEAD:
            return self.cycle is None or self.cycle.response_complete
        return self._awaits is _AwaitedPart.BODY and not self.cycle.response_started

    def _await(self, what: _AwaitedPart) -> None:
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
