"""`wallclock sandbox` and `labs`: the sandbox and the queue of labs, apart from the web servers."""

import logging.config
import signal
import sys
import threading
from argparse import ArgumentParser, Namespace
from pathlib import Path

import uvicorn

from app.commands.files import Commands
from app.commands.processes import cleaned_up
from app.core.errors import InputError
from app.course.sandbox.remote import create_service
from app.server.config import Settings
from app.server.network.guard import GUARD, Guard, Limits, raise_files
from app.server.network.sockets import CONNECTION, listening_at, url_of
from app.server.network.watch import logging_configuration

_HOW = """python -c "import secrets; print(secrets.token_urlsafe())\""""


def add_sandbox_options(parser: ArgumentParser) -> None:
    """The options of `wallclock sandbox`."""
    parser.add_argument("--host", help="address to listen on (default: WALLCLOCK_HOST or 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8100, help="0: any free port (default: 8100)")
    parser.add_argument("--uds", metavar="PATH", help="listen at a Unix socket instead")


def run_sandbox(arguments: Namespace) -> int:
    """Run programs for web servers until a signal."""
    settings = Settings()
    if not settings.sandbox_token:
        raise InputError(
            "a sandbox server needs WALLCLOCK_SANDBOX_TOKEN, a secret that the web servers have as "
            f"well; to make one: {_HOW}"
        )
    if not 0 <= arguments.port < 1 << 16:
        raise InputError(f"--port must be 0 to 65535, not {arguments.port}")
    own = settings.model_copy(update={"sandbox_at": ()})  # both may read the same environment
    app = create_service(own, {GUARD: Guard(Limits.of(settings))})
    path = Path(arguments.uds) if arguments.uds else None
    host = arguments.host or settings.host
    with cleaned_up() as stack:
        listening = stack.enter_context(listening_at(path, host, arguments.port))
        where = " and ".join(map(url_of, listening))
        sys.stderr.write(f"The sandbox is at {where} (Ctrl+C stops it)\n")
        sys.stderr.flush()
        raise_files()
        uvicorn.Server(_configuration(settings, app)).run(sockets=listening)
    return 0


def _configuration(settings: Settings, app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=CONNECTION,
        ws="none",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=logging_configuration(settings.log),
        log_level=None,
        timeout_graceful_shutdown=5,
    )


def add_labs_options(parser: ArgumentParser) -> None:
    """The options of `wallclock labs`."""
    del parser  # none


def run_labs(_arguments: Namespace) -> int:
    """Start the runs that visitors of `wallclock serve --no-labs` request, until a signal."""
    from app.server.db.migrations import migrate
    from app.server.db.session import connect
    from app.site.labs.queue import Dispatcher  # the sandbox needs neither a database nor labs

    settings = Settings()
    logging.config.dictConfig(logging_configuration(settings.log))
    migrate(settings.database)
    engine = connect(settings.database)
    labs = Dispatcher(settings, engine)
    try:
        if labs.trouble:
            raise InputError(labs.trouble)
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        labs.start()
        sys.stderr.write(f"Labs run on {labs.launcher.host} (Ctrl+C stops it)\n")
        sys.stderr.flush()
        stopped.wait()
        labs.close()
    finally:
        engine.dispose()
    return 0


COMMANDS: Commands = {"sandbox": (add_sandbox_options, run_sandbox), "labs": (add_labs_options, run_labs)}
