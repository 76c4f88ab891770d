"""Sockets to listen on: an address and a port, a Unix socket, or those that systemd passes on."""

import errno
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import InputError

CONNECTION = "app.server.network.guard:Connection"  # for uvicorn
_BACKLOG = 2048
_PAUSE = 0.05  # seconds from one attempt to the next
_FIRST = 3  # the first file descriptor that systemd passes on
_LONGEST = 107  # bytes of the path of a Unix socket, on Linux


def listen(host: str, port: int, patience: float = 0) -> socket.socket:
    """A socket that listens on an address; one in use is tried again for *patience* seconds.

    Raises:
        InputError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _bind(listening, (host.strip("[]"), port), time.monotonic() + patience)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
        ) from error
    listening.set_inheritable(True)
    return listening


def listen_at(path: Path) -> socket.socket:
    """A Unix socket that listens at *path*, in place of one that a stopped server left there.

    Anyone who may connect can send what only a proxy should, such as the header of a sign-in: its
    user alone may, and, in a folder with the setgid bit, the group of that folder.

    Raises:
        InputError: the path cannot be used.
    """
    if len(os.fsencode(path)) > _LONGEST:
        raise InputError(f"the path of a Unix socket has at most {_LONGEST} bytes: {path}")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _make_way(path)
        _bind_at(listening, path)
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise InputError(f"cannot listen at {path}: {error.strerror or error}") from error
    except InputError:
        listening.close()
        raise
    listening.set_inheritable(True)
    return listening


def passed_on() -> list[socket.socket]:
    """The listening sockets that systemd passed on to this process; usually none.

    Source:
        sd_listen_fds(3): LISTEN_PID names the process, LISTEN_FDS the number.

    Raises:
        InputError: one is not a socket that listens for connections.
    """
    process, number = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or not number.isdigit():
        return []
    return [_passed(descriptor) for descriptor in range(_FIRST, _FIRST + int(number))]


def url_of(listening: socket.socket) -> str:
    """The URL of a listening socket; unix: and the path, of a Unix socket."""
    if listening.family == socket.AF_UNIX:
        return f"unix:{listening.getsockname()}"
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bind(listening: socket.socket, address: tuple[str, int], end: float) -> None:
    while True:
        try:
            return listening.bind(address)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= end:
                raise
        time.sleep(_PAUSE)


def _bind_at(listening: socket.socket, path: Path) -> None:
    """Bind to *path*, which nobody else may open at any moment, and then its group may or not."""
    usual = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(usual)
    if path.parent.stat().st_mode & stat.S_ISGID:
        path.chmod(0o660)


def _make_way(path: Path) -> None:
    """Remove a socket at *path* on which nothing listens."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise InputError(f"cannot listen at {path}: there is a file that is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(1)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InputError(f"cannot listen at {path}: another server does; stop it, or use another path")


def _passed(descriptor: int) -> socket.socket:
    try:
        listening = socket.socket(fileno=descriptor)
        listens = listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise InputError(
            f"LISTEN_FDS names file descriptor {descriptor}, which is not a socket: {error.strerror}"
        ) from error
    if not listens or listening.type != socket.SOCK_STREAM:
        raise InputError(
            f"LISTEN_FDS names file descriptor {descriptor}, on which nothing listens for "
            "connections; use ListenStream= and Accept=no"
        )
    listening.set_inheritable(True)
    return listening


@contextmanager
def listening_at(path: Path | None, host: str, port: int, patience: float = 0) -> Iterator[list[socket.socket]]:
    """The sockets of systemd; without them, a Unix socket at *path*; without that, a port.

    A port in use is tried again for *patience* seconds.
    """
    if passed := passed_on():
        yield passed
    elif path:
        listening = listen_at(path)
        try:
            yield [listening]
        finally:
            path.unlink(missing_ok=True)
    else:
        yield [listen(host, port, patience)]
