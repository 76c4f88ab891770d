"""`wallclock serve`: the site."""

import logging
import math
import os
import socket
import sys
from argparse import Namespace
from importlib.util import find_spec

import uvicorn
from fastapi import FastAPI

from app.config import Settings
from app.errors import InputError, UnavailableError
from app.main import create_app, create_site
from app.network.guard import raise_files
from app.network.logs import logging_configuration
from app.sandbox.pool import slots_of

_FACTORY = "app.commands.serve:worker"
_SILENT = 15  # seconds after which a worker process that does not answer is replaced
CONNECTION = "app.network.connection:Connection"
_SLOW_COOKIES = (
    "This version of Python parses long cookies slowly (CVE-2024-7592). Wallclock is not affected, "
    "since it refuses cookies above 4 kB; Python 3.11.10, 3.12.6 or later is recommended.\n"
)
_EXERCISES, _SLOTS = "WALLCLOCK_EXERCISES", "WALLCLOCK_SANDBOX_WORKERS"


def run(arguments: Namespace) -> int:
    """Check the content and the database, then serve until a signal."""
    if arguments.exercises:  # through the environment, so that every worker process sees them
        earlier = os.environ.get(_EXERCISES, "")
        os.environ[_EXERCISES] = os.pathsep.join(filter(None, [earlier, *arguments.exercises]))
    settings = Settings()
    host = arguments.host or settings.host
    port = settings.port if arguments.port is None else arguments.port
    if not 0 <= port < 1 << 16:
        raise InputError(f"--port must be 0 to 65535, not {port}")
    if arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}")
    create_site(settings).engine.dispose()  # a broken catalog or database is reported here, once
    listening = listen(host, port)
    address = address_of(listening)
    sys.stderr.write(f"Wallclock is at {address} (Ctrl+C stops it)\n")
    if _is_slow_with_cookies(sys.version_info[:3]):
        sys.stderr.write(_SLOW_COOKIES)
    sys.stderr.flush()
    raise_files()
    if arguments.workers > 1:
        _share(settings, arguments.workers)
    _serve(_configuration(arguments, settings, host, port), listening)
    return 0


def worker() -> FastAPI:
    """The app of one process of the server; one that cannot start ends, and is started again."""
    try:
        return create_app()
    except UnavailableError as error:
        cause = f" ({error.cause})" if error.cause else ""
        logging.getLogger(__name__).warning("a process cannot start: %s%s", error, cause)
        sys.exit(1)


def _share(settings: Settings, processes: int) -> None:
    """Divide the programs that may run at the same time among the *processes*."""
    each = math.ceil(slots_of(settings) / processes)
    os.environ[_SLOTS] = str(each)


def _configuration(
    arguments: Namespace, settings: Settings, host: str, port: int
) -> uvicorn.Config:
    return uvicorn.Config(
        _FACTORY,
        factory=True,
        host=host,
        port=port,
        workers=arguments.workers,
        reload=arguments.reload,
        http=CONNECTION if find_spec("httptools") else "auto",
        ws="none",
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies,
        access_log=settings.access_log,
        log_config=logging_configuration(),
        log_level=None,
        timeout_graceful_shutdown=5,
        timeout_worker_healthcheck=_SILENT,
    )


def _is_slow_with_cookies(version: tuple[int, ...]) -> bool:
    """Whether that version of Python has CVE-2024-7592."""
    return version < (3, 11, 10) or (3, 12) <= version < (3, 12, 6)


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
    """A listening socket.

    Raises:
        InputError: the address cannot be used.
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
    """The URL of a listening socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
