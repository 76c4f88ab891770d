"""The weight of a first visit to an exercise, compressed, in kB."""

import gzip
import re
import tempfile
from collections.abc import Iterator
from urllib.parse import urljoin

from fastapi.testclient import TestClient

from app.main import create_app
from app.server.config import Settings
from tests.bench.figures import Figure
from tests.pages import EXPLORED, PAGES

_PAGE = "/exercises/collectives/ring-all-reduce-time"
# What a browser loads at once: fonts that the page asks for, no module that a script may ask for later, and no icons.
_MENTIONED = re.compile(
    r"""<link rel="(?:preload|stylesheet|modulepreload)" href="(/static/[^"]+)"|src="(/static/[^"]+)"|from ?"(\./[^"]+)\""""
    r"""|import ?"(\./[^"]+)\""""
)


def measure() -> Iterator[Figure]:
    """Everything that a page and its files mention, but the editor, which is loaded on use."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(database=f"sqlite:///{folder}/w.db", sandbox_workers=1))
        with TestClient(app) as client:
            files = _Files(client)
            sizes = files.needed_by(_PAGE)
            loads = {
                name: sum(files.needed_by(path).values())
                for name, path in (PAGES | EXPLORED).items()
                if name != "not found"
            }
    scripts = sum(size for name, size in sizes.items() if name.endswith(".js"))
    styles = sum(size for name, size in sizes.items() if name.endswith(".css"))
    yield Figure("first load of an exercise page", sum(sizes.values()) / 1e3, "kB", 150, "lower")
    yield Figure("JavaScript of it", scripts / 1e3, "kB", 15, "lower")
    yield Figure("CSS of it, with that of its figure", styles / 1e3, "kB", 9, "lower")
    heaviest = max(loads, key=lambda name: loads[name])
    yield Figure(f"heaviest first load ({heaviest})", loads[heaviest] / 1e3, "kB", 150, "lower")


class _Files:
    """Pages and static files of a site, with their compressed sizes and what each mentions."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.known: dict[str, tuple[int, tuple[str, ...]]] = {}

    def needed_by(self, page: str) -> dict[str, int]:
        """The size of *page*, and of each file that it needs."""
        sizes: dict[str, int] = {}
        todo = [page]
        while todo:
            address = todo.pop()
            if address not in sizes and "codemirror" not in address:
                sizes[address], mentioned = self._read(address)
                todo += mentioned
        return sizes

    def _read(self, address: str) -> tuple[int, tuple[str, ...]]:
        if address not in self.known:
            answer = self.client.get(address)
            answer.raise_for_status()
            if "font" in answer.headers["content-type"]:
                self.known[address] = len(answer.content), ()
            else:
                found = _MENTIONED.findall(answer.text)
                names = tuple(urljoin(address, name) for names in found for name in names if name)
                self.known[address] = len(gzip.compress(answer.content)), names
        return self.known[address]
