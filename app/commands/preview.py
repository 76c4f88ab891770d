"""`wallclock preview`: show an exercise file beside its page, linted while one types."""

import secrets
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from app.authoring.preview import preview_app
from app.commands.new import begin_exercise
from app.main import create_site
from app.server.config import Settings
from app.server.network.sockets import listen, url_of


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock preview`."""
    parser.add_argument("path", metavar="PATH", help="an exercise file, or the folder of a chapter")
    parser.add_argument("--new", action="store_true", help="write the file PATH first, as `wallclock new` does")
    parser.add_argument("--kind", default="numeric", metavar="KIND", help="of a new file (default: numeric)")
    parser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8001, help="0: any free port (default: 8001)")


def run(arguments: Namespace) -> int:
    """Serve the file beside its page until a signal; the key in the address lets a page edit it.

    Where other machines can ask, the key is needed to read it, too.
    """
    path, key = Path(arguments.path), secrets.token_urlsafe(18)
    if arguments.new:
        begin_exercise(arguments.kind, path)
    sys.stderr.write(f"Reading the course and {path} ...\n")
    sys.stderr.flush()
    with tempfile.TemporaryDirectory() as folder:  # answers tried here are not stored as progress
        database = f"sqlite:///{Path(folder) / 'preview.db'}"
        site = create_site(Settings(database=database))
        try:
            app = preview_app(path, site, key, locked=not _is_loopback(arguments.host))
            listening = listen(arguments.host, arguments.port)
        except BaseException:
            site.engine.dispose()
            raise
        address = f"{url_of(listening)}/preview#key={key}"
        sys.stderr.write(f"The preview is at {address} (Ctrl+C stops it)\n")
        sys.stderr.flush()
        config = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def _is_loopback(host: str) -> bool:
    """Whether only this machine can ask a server that listens at *host*."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
