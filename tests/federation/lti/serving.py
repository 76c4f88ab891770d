"""The site on a port of its own, so that a platform can reach it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from app.classes.federation.lti.tool import Tool
from app.classes.members import site_members
from app.main import create_app, create_site
from app.server.config import Settings
from app.site import Site
from tests.waiting import wait_until


class Service:
    """The site that is served at *url*; the courier runs only when a test says so."""

    def __init__(self, url: str, app: FastAPI, site: Site) -> None:
        self.url = url
        self.app = app
        self.site = site

    @property
    def tool(self) -> Tool:
        return site_members(self.site).federation.tool


@contextmanager
def served(folder: Path) -> Iterator[Service]:
    """The site with a database in *folder*; it may ask services on this machine."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        site = create_site(
            Settings(
                database=f"sqlite:///{folder / 'wallclock.db'}",
                runs=folder / "runs",
                address=url,
                private_hosts=frozenset({"localhost", "127.0.0.1"}),
            )
        )
        app = create_app(site=site)
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        wait_until(lambda: server.started)
        try:
            yield Service(url, app, site)
        finally:
            server.should_exit = True
            thread.join()
            site.engine.dispose()
