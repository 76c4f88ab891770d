"""1,000 programs in one batch over HTTP, beside the same offline: byte for byte, and how quick."""

import asyncio
import json
import tempfile
import time
from collections.abc import Coroutine, Iterator
from pathlib import Path

from app.core.folders import ROOT
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.site.grading.offline import FileGrader, VerdictTally
from tests.bench.figures import Figure
from tests.bench.load import Running, server

_COUNT = 1_000
_TURNS = 3


def _lines(catalog: Catalog) -> list[bytes]:
    exercises = [exercise for exercise in catalog.exercises if exercise.kind == "function"]
    rows = []
    for number in range(_COUNT):
        exercise, seed = exercises[number % len(exercises)], number % 11
        wrong = next(iter(exercise.mistakes(seed)))[0]
        answer = exercise.right_answer(seed) if number % 2 else wrong
        row = {"exercise": exercise.id, "seed": seed, "answer": answer, "ref": str(number)}
        rows.append(json.dumps(row).encode() + b"\n")
    return rows


async def _offline(lines: list[bytes], catalog: Catalog) -> bytes:
    grader = FileGrader(catalog, Settings())
    rows = [row async for row in grader.grade(enumerate(lines, 1), VerdictTally())]
    await grader.close()
    return b"".join(rows)


async def _sent(running: Running, lines: list[bytes]) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    body = b"".join(lines)
    head = (
        "POST /api/v1/check/batch HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {running.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    await reader.readuntil(b"\r\n\r\n")
    pieces = b""
    while size := int(await reader.readline(), 16):
        pieces += await reader.readexactly(size)
        await reader.readline()
    writer.close()
    return pieces


def _timed(work: Coroutine[None, None, bytes]) -> tuple[float, bytes]:
    started = time.perf_counter()
    answer = asyncio.run(work)
    return time.perf_counter() - started, answer


def measure() -> Iterator[Figure]:
    """Both in turn, so that whatever else the machine does meets both."""
    catalog = Catalog.read([ROOT / "exercises"])
    lines = _lines(catalog)
    shares, rates = [], []
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        for _ in range(_TURNS):
            took, sent = _timed(_sent(running, lines))
            offline, graded = _timed(_offline(lines, catalog))
            assert sent == graded
            shares.append(offline / took)
            rates.append(_COUNT / took)
    share, rate = sorted(shares)[_TURNS // 2], sorted(rates)[_TURNS // 2]
    yield Figure("programs in a batch over HTTP", rate, "/s", None, "higher")
    yield Figure("programs in a batch, share of offline", 100 * share, "%", 50, "higher")
