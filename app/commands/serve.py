"""`wallclock serve`: the site."""

import os
from argparse import ArgumentParser, Namespace
from tempfile import mkdtemp

from app.commands.modules import load_command


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock serve`."""
    parser.add_argument("--host", help="address to listen on (default: WALLCLOCK_HOST or 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port; 0: any free port (default: WALLCLOCK_PORT or 8000)")
    parser.add_argument("--uds", metavar="PATH", help="listen at a Unix socket instead (default: WALLCLOCK_UDS)")
    parser.add_argument(
        "--root-path", metavar="PATH", help="path prefix, such as /wallclock (default: that of WALLCLOCK_URL)"
    )
    parser.add_argument("--workers", type=int, default=1, help="server processes (default: 1)")
    parser.add_argument("--no-labs", action="store_true", help="`wallclock labs` runs the labs")
    parser.add_argument("--reload", action="store_true", help="restart when a file changes")
    parser.add_argument(
        "--exercises",
        action="append",
        default=[],
        metavar="DIR",
        help="an additional folder of exercises; may be repeated",
    )


def run(arguments: Namespace) -> int:
    """Check the content and the database, then serve until a signal."""
    if arguments.workers > 1:
        # They add up their counts, which prometheus_client decides when it is imported.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = mkdtemp(prefix="wallclock-metrics-")
    return int(load_command("server").serve(arguments))
