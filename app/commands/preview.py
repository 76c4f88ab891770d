"""`wallclock preview`: show an exercise file beside its page, linted while one types."""

import secrets
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path

import uvicorn

from app.authoring.preview import preview_app
from app.config import Settings
from app.main import create_site
from app.network.sockets import listen, url_of


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock preview`."""
    parser.add_argument("path", metavar="PATH", help="an exercise file, or the folder of a chapter")
    parser.add_argument("--host", default="127.0.0.1", help="address (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=8001, help="0: any free port (default: 8001)")


def run(arguments: Namespace) -> int:
    """Serve the file beside its page until a signal; the key in the address lets a page edit it."""
    key = secrets.token_urlsafe(18)
    with tempfile.TemporaryDirectory() as folder:  # answers tried here are not stored as progress
        database = f"sqlite:///{Path(folder) / 'preview.db'}"
        site = create_site(Settings(database=database))
        try:
            app = preview_app(Path(arguments.path), site, key)
            listening = listen(arguments.host, arguments.port)
        except BaseException:
            site.engine.dispose()
            raise
        address = f"{url_of(listening)}/preview#key={key}"
        sys.stderr.write(f"The preview is at {address} (Ctrl+C stops it)\n")
        sys.stderr.flush()
        config = uvicorn.Config(
            app, access_log=False, log_level="warning", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listening])
    return 0
