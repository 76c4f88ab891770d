"""`wallclock labs`: the queue of labs, apart from the web servers."""

import logging.config
import signal
import sys
import threading
from argparse import ArgumentParser, Namespace

from app.core.errors import InputError
from app.server.config import Settings
from app.server.db.migrations import migrate
from app.server.db.session import connect
from app.server.network.watch import logging_configuration
from app.site.labs.queue import Dispatcher


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock labs`."""
    del parser  # none


def run(_arguments: Namespace) -> int:
    """Start the runs that visitors of `wallclock serve --no-labs` request, until a signal."""
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
