"""Open edX's platform for the tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from tests.federation.environment import peers, running
from tests.needs import provided
from tests.sockets import reserved_port
from tests.waiting import HANGS

_SERVER = Path(__file__).parent / "openedx_server.py"


class Platform:
    """The platform that runs at *url*."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx2.Client(timeout=HANGS, trust_env=False)

    def told(self, path: str) -> Any:
        return self.http.get(f"{self.url}/{path}").json()

    def rotate(self) -> None:
        self.http.post(f"{self.url}/rotate")


@contextmanager
def platform(tool: str, members: int = 25) -> Iterator[Platform]:
    """Open edX's platform, which has the tool at the address *tool*."""
    with reserved_port() as port:
        made = Platform(f"http://localhost:{port}")
        command = [str(provided("peers", peers)), str(_SERVER), str(port), tool, str(members)]
        with made.http, running(command, f"{made.url}/config"):
            yield made
