"""`wallclock serve`: the site."""

import os
import socket
import sys
from argparse import Namespace

import uvicorn

from app.config import Settings
from app.errors import InputError
from app.main import create_site

_FACTORY = "app.main:create_app"
_EXERCISES = "WALLCLOCK_EXERCISES"


def run(arguments: Namespace) -> int:
    """Check everything, then serve until a signal."""
    if arguments.exercises:  # through the environment, so that every worker process sees them
        earlier = os.environ.get(_EXERCISES, "")
        os.environ[_EXERCISES] = os.pathsep.join(filter(None, [earlier, *arguments.exercises]))
    settings = Settings()
    host = arguments.host or settings.host
    port = settings.port if arguments.port is None else arguments.port
    if not 0 <= port < 1 << 16:
        raise InputError(f"a port is 0 to 65535, not {port}")
    if arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}")
    create_site(settings).engine.dispose()  # a broken catalog or database is told here, once
    listening = listen(host, port)
    address = address_of(listening)
    sys.stderr.write(f"Wallclock is at {address} (Ctrl+C ends it)\n")
    sys.stderr.flush()
    config = uvicorn.Config(
        _FACTORY,
        factory=True,
        host=host,
        port=port,
        workers=arguments.workers,
        reload=arguments.reload,
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=5,
    )
    _serve(config, listening)
    return 0


def _serve(config: uvicorn.Config, listening: socket.socket) -> None:
    server = uvicorn.Server(config)
    if config.should_reload:
        from uvicorn.supervisors import ChangeReload

        ChangeReload(config, target=server.run, sockets=[listening]).run()
    elif config.workers > 1:
        from uvicorn.supervisors import Multiprocess

        Multiprocess(config, sockets=[listening]).run()
    else:
        server.run(sockets=[listening])


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        InputError: it cannot.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise InputError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
        ) from error
    listening.set_inheritable(True)
    return listening


def address_of(listening: socket.socket) -> str:
    """The address of a listening socket, as a browser takes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
