"""The weight of a first visit to an exercise, compressed, in kB."""

import gzip
import re
import tempfile
from collections.abc import Iterator
from urllib.parse import urljoin

from fastapi.testclient import TestClient

from app.config import Settings
from app.main import create_app
from tests.bench.figures import Figure

_PAGE = "/exercises/collectives/ring-all-reduce-time"
_MENTIONED = re.compile(
    r"""(?:href|src)="(/static/[^"]+)"|import\("(/static/[^"]+)"\)|from "(/static/[^"]+)"|url\((/static/[^)]+)\)"""
)


def measure() -> Iterator[Figure]:
    """Everything that the page and its files mention, but the editor, which is loaded on use."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(database=f"sqlite:///{folder}/w.db", sandbox_workers=1))
        with TestClient(app) as client:
            sizes: dict[str, int] = {}
            todo = [_PAGE]
            while todo:
                address = todo.pop()
                if address in sizes or "formulas" in address or "codemirror" in address:
                    continue
                answer = client.get(address)
                packed = "font" in answer.headers["content-type"]
                sizes[address] = len(answer.content if packed else gzip.compress(answer.content))
                if not packed:
                    found = _MENTIONED.findall(answer.text)
                    todo += [urljoin(address, name) for names in found for name in names if name]
    scripts = sum(size for name, size in sizes.items() if name.endswith(".js"))
    styles = sum(size for name, size in sizes.items() if name.endswith(".css"))
    yield Figure("first load of an exercise page", sum(sizes.values()) / 1e3, "kB", 150, "lower")
    yield Figure("JavaScript of it", scripts / 1e3, "kB", 15, "lower")
    yield Figure("CSS of it, with that of its figure", styles / 1e3, "kB", 9, "lower")
