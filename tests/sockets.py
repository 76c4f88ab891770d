"""Ports and responses on this machine."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.waiting import HANGS

HOST = "127.0.0.1"


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port on which nothing listens, and that the system gives to nobody else in this block.

    A server may listen on it that sets SO_REUSEADDR, as nearly all do.
    """
    with closing(socket.socket()) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((HOST, 0))
        yield int(held.getsockname()[1])


def connected(port: int) -> socket.socket:
    """A connection to *port*; what takes longer than anything should fails."""
    return socket.create_connection((HOST, port), HANGS)


def response(visitor: socket.socket) -> bytes:
    """The next response, in however many pieces it comes; its head says how long it is."""
    with visitor.makefile("rb", buffering=0) as stream:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = stream.read(1)
            assert piece, f"the connection was closed after {head!r}"
            head += piece
        names = (line.partition(b":") for line in head.lower().splitlines())
        (length,) = (int(value) for name, _, value in names if name == b"content-length")
        body = b""
        while len(body) < length:
            piece = stream.read(length - len(body))
            assert piece, f"the connection was closed after {head + body!r}"
            body += piece
        return head + body


def rest(visitor: socket.socket) -> bytes:
    """Everything until the connection is closed."""
    answer = b""
    try:
        while piece := visitor.recv(65_536):
            answer += piece
    except ConnectionError:
        pass
    return answer
