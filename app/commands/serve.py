"""`wallclock serve`: the site."""

import os
import socket
import sys
from argparse import Namespace
from importlib.util import find_spec

import uvicorn
from fastapi import FastAPI

from app.config import Settings
from app.errors import InputError
from app.main import calm_collector, create_app, create_site
from app.network.guard import raise_files
from app.network.logs import logging_configuration

_FACTORY = "app.main:served_app"
CONNECTION = "app.network.connection:Connection"
_SLOW_COOKIES = (
    "This version of Python parses long cookies slowly (CVE-2024-7592). Wallclock is not affected, "
    "since it refuses cookies above 4 kB; Python 3.11.10, 3.12.6 or later is recommended.\n"
)
_EXERCISES = "WALLCLOCK_EXERCISES"


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
    site = create_site(settings)  # a broken catalog or database is reported here, once
    site.engine.dispose()
    listening = listen(host, port)
    address = address_of(listening)
    sys.stderr.write(f"Wallclock is at {address} (Ctrl+C stops it)\n")
    if _is_slow_with_cookies(sys.version_info[:3]):
        sys.stderr.write(_SLOW_COOKIES)
    sys.stderr.flush()
    raise_files()
    in_this_process = arguments.workers == 1 and not arguments.reload
    app = create_app(site=site) if in_this_process else _FACTORY
    calm_collector()
    _serve(_configuration(app, arguments, settings, host, port), listening)
    return 0


def _configuration(
    app: FastAPI | str, arguments: Namespace, settings: Settings, host: str, port: int
) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
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
