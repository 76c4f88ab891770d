"""How many nearly right programs the hidden calls tell from right ones, at any seed."""

import asyncio
import statistics
from collections.abc import Iterator

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.course.kinds.code.function import Function
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.bench.figures import Figure

_GOAL = 95


def measure() -> Iterator[Figure]:
    """The share that fails of the changed programs that differ anywhere, for each exercise.

    Only the calls that every seed has are made, so this is the least of all seeds.
    """
    shares = asyncio.run(_shares())
    for name, share in shares.items():
        yield Figure(f"told: {name}", share, "%", _GOAL, "higher")
    yield Figure("told, the worst exercise", min(shares.values()), "%", _GOAL, "higher")
    yield Figure("told, the mean", statistics.mean(shares.values()), "%", _GOAL, "higher")


async def _shares() -> dict[str, float]:
    catalog = Catalog.read([ROOT / "exercises"])
    runner = Runner(Settings())
    await runner.start()
    await runner.ready()
    try:
        return {
            exercise.id: 100 * (await exercise.contest().measured(runner)).share
            for exercise in catalog.exercises
            if isinstance(exercise, Function)
        }
    finally:
        await runner.close()
