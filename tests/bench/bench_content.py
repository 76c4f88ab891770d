"""How long authors and learners wait for the exercises: reading, proving, showing them."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fastapi.testclient import TestClient

from app.authoring.lint import lint
from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.sandbox.runner import Runner
from app.main import create_app
from app.server.config import Settings
from tests.bench.figures import Figure

_SEED = 5
_RUNS = 5


def measure() -> Iterator[Figure]:
    """Reading the catalog, proving all of it, and a page of each exercise."""
    folder = ROOT / "exercises"
    reading = statistics.median(_seconds(lambda: Catalog.read([folder])) for _ in range(_RUNS))
    yield Figure("reading the catalog", reading, "s", 1, "lower")
    yield Figure("wallclock lint of the whole catalog", _lint(folder), "s", 20, "lower")
    yield from _pages()


def _lint(folder: Path) -> float:
    async def timed() -> float:
        runner = Runner(Settings())
        await runner.start()
        await runner.ready()
        try:
            begun = time.perf_counter()
            await lint([folder], runner)
            return time.perf_counter() - begun
        finally:
            await runner.close()

    return asyncio.run(timed())


def _pages() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(database=f"sqlite:///{folder}/w.db", sandbox_workers=1))
        with TestClient(app) as client:
            addresses = [f"/exercises/{e.id}?seed={_SEED}" for e in app.state.site.catalog.exercises]
            first = [_seconds(lambda a=address: client.get(a)) for address in addresses]
            again = [_seconds(lambda a=address: client.get(a)) for address in addresses]
    yield Figure("page of an exercise, first time, median", 1e3 * statistics.median(first), "ms", 10, "lower")
    yield Figure("page of an exercise, again, median", 1e3 * statistics.median(again), "ms", 10, "lower")
    yield Figure(
        "page of an exercise, again, 95 of 100", 1e3 * sorted(again)[len(again) * 95 // 100], "ms", 10, "lower"
    )


def _seconds(work: object) -> float:
    assert callable(work)
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
