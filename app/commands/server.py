"""The server of the site."""

import logging
import math
import os
import socket
import sys
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

import uvicorn
from fastapi import FastAPI

from app.commands.processes import Processes, cleaned_up
from app.core.errors import InputError, UnavailableError
from app.core.predicting.lines import predict_lines
from app.course.explorers.states import configured_state
from app.course.sandbox.pool import slots_of
from app.main import calm_collector, create_app, create_site
from app.server import metrics
from app.server.aside.child_process import prepare
from app.server.config import Settings
from app.server.network.guard import raise_files
from app.server.network.sockets import CONNECTION, listening_at, url_of
from app.server.network.watch import logging_configuration

_FACTORY = "app.commands.server:worker"
_ORPHANS = 15.0  # seconds in which the processes of a server that was killed leave its port
_SILENT = 15  # seconds after which a worker process that does not answer is replaced
_SLOW_COOKIES = (
    "This version of Python parses long cookies slowly (CVE-2024-7592). Wallclock is not affected, "
    "since it refuses cookies above 4 kB; Python 3.11.10, 3.12.6 or later is recommended.\n"
)
_EXERCISES, _SLOTS = "WALLCLOCK_EXERCISES", "WALLCLOCK_SANDBOX_WORKERS"
_HOST, _ROOT_PATH, _LABS_APART = "WALLCLOCK_HOST", "WALLCLOCK_ROOT_PATH", "WALLCLOCK_LABS_APART"


def serve(arguments: Namespace) -> int:
    """Check the content and the database, then serve until a signal."""
    _hand_down(arguments)
    settings = Settings()
    port = settings.port if arguments.port is None else arguments.port
    if not 0 <= port < 1 << 16:
        raise InputError(f"--port must be 0 to 65535, not {port}")
    if arguments.workers < 1:
        raise InputError(f"--workers must be at least 1, not {arguments.workers}")
    site = create_site(settings)  # a broken catalog or database is reported here, once
    site.engine.dispose()
    in_this_process = arguments.workers == 1 and not arguments.reload
    app = create_app(site=site) if in_this_process else _FACTORY
    if arguments.workers > 1:
        _share(settings, arguments.workers)
    path = Path(arguments.uds) if arguments.uds else settings.uds
    patience = _ORPHANS if arguments.workers > 1 else 0
    with cleaned_up() as stack:
        stack.callback(_forget_counts)
        listening = stack.enter_context(listening_at(path, settings.host, port, patience))
        _announce(settings, listening)
        raise_files()
        calm_collector()
        if in_this_process:
            prepare(configured_state, predict_lines)
        _serve(_configuration(app, arguments, settings, port), listening)
    return 0


def _hand_down(arguments: Namespace) -> None:
    """Put options into the environment, so that every worker process sees them."""
    if arguments.exercises:
        earlier = os.environ.get(_EXERCISES, "")
        os.environ[_EXERCISES] = os.pathsep.join(filter(None, [earlier, *arguments.exercises]))
    if arguments.host:
        os.environ[_HOST] = arguments.host
    if arguments.root_path:
        os.environ[_ROOT_PATH] = arguments.root_path
    if arguments.no_labs:
        os.environ[_LABS_APART] = "true"


def _forget_counts() -> None:
    """Remove the folder in which several processes add up what they count, if there is one."""
    if metrics.is_shared():
        rmtree(metrics.folder(), ignore_errors=True)


def _announce(settings: Settings, listening: list[socket.socket]) -> None:
    where = " and ".join(map(url_of, listening))
    sys.stderr.write(f"Wallclock is at {where} (Ctrl+C stops it)\n")
    if settings.url or settings.prefix:
        sys.stderr.write(f"Visitors find it at {settings.url or settings.prefix + '/'}\n")
    version = sys.version_info[:3]
    if version < (3, 11, 10) or (3, 12) <= version < (3, 12, 6):
        sys.stderr.write(_SLOW_COOKIES)
    sys.stderr.flush()


def _share(settings: Settings, processes: int) -> None:
    """Divide the programs that may run at the same time among the *processes*."""
    os.environ[_SLOTS] = str(math.ceil(slots_of(settings) / processes))


def worker() -> FastAPI:
    """The app of one process of the server; one that cannot start ends, and is started again."""
    try:
        app = create_app()
    except UnavailableError as error:
        cause = f" ({error.cause})" if error.cause else ""
        logging.getLogger(__name__).warning("a process cannot start: %s%s", error, cause)
        sys.exit(1)
    calm_collector()
    prepare(configured_state, predict_lines)
    return app


def _configuration(app: FastAPI | str, arguments: Namespace, settings: Settings, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=isinstance(app, str),
        host=settings.host,
        port=port,
        workers=arguments.workers,
        reload=arguments.reload,
        http=CONNECTION if find_spec("httptools") else "auto",
        ws="none",
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies,
        access_log=False,  # ours says less: no query, and no secret
        log_config=logging_configuration(settings.log),
        log_level=None,
        timeout_graceful_shutdown=5,
        timeout_worker_healthcheck=_SILENT,
    )


def _serve(config: uvicorn.Config, listening: list[socket.socket]) -> None:
    server = uvicorn.Server(config)
    if config.should_reload:
        from uvicorn.supervisors import ChangeReload

        ChangeReload(config, target=server.run, sockets=listening).run()
    elif config.workers > 1:
        Processes(config, listening).run()
    else:
        server.run(sockets=listening)
