"""Fifty visitors send endless loops at once: what is left for everybody else."""

import asyncio
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

from app.config import ROOT
from app.yaml_file import read_document
from tests.bench.figures import Figure
from tests.bench.load import Load, Running, server

_VISITORS = 50
_SECONDS = 20.0
_PAUSE = 0.05  # seconds from one request of an honest learner to the next
_PROGRAM = "/exercises/collectives/write-ring-time"
_PAGE = "/explore/ring"
_LOOP = "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n    while True:\n        pass\n"


class _Browser:
    """A visitor on one connection, who keeps the cookie."""

    def __init__(self, running: Running) -> None:
        self._port = running.port
        self._cookie = ""

    async def open(self) -> "_Browser":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{self._cookie}"
        kind = "Content-Type: application/x-www-form-urlencoded\r\n"
        length = f"Content-Length: {len(body)}\r\n\r\n"
        self._writer.write((head + kind + length).encode() + body)
        answered = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        size = re.search(r"content-length: (\d+)", answered.lower())
        text = await self._reader.readexactly(int(size[1]) if size else 0)
        if cookie := re.search(r"set-cookie: (learner=[^;]+)", answered, re.IGNORECASE):
            self._cookie = f"Cookie: {cookie[1]}\r\n"
        return int(answered.split()[1]), text


async def _loops(running: Running) -> None:
    browser = await _Browser(running).open()
    body = urlencode({"answer": _LOOP}).encode()
    while True:
        status, _ = await browser.ask("POST", _PROGRAM, body)
        assert status in (200, 503), status


async def _timed(running: Running, method: str, path: str, body: bytes, expected: bytes) -> Load:
    browser = await _Browser(running).open()
    times: list[float] = []
    until = time.perf_counter() + _SECONDS
    while (started := time.perf_counter()) < until:
        status, text = await browser.ask(method, path, body)
        assert status == 200 and expected in text, (status, text[-500:])  # noqa: PT018
        times.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE)
    return Load(len(times) / _SECONDS, times, busy=0.0)  # it sleeps between two requests


async def _siege(running: Running) -> tuple[Load, Load]:
    file = ROOT / "exercises" / "collectives" / "write-ring-time.yaml"
    right = urlencode({"answer": str(read_document(file).values["right"])}).encode()
    visitors = [asyncio.create_task(_loops(running)) for _ in range(_VISITORS)]
    await asyncio.sleep(2)
    try:
        return await asyncio.gather(
            _timed(running, "GET", _PAGE, b"", b"</html>"),
            _timed(running, "POST", _PROGRAM, right, b"Right"),
        )
    finally:
        for visitor in visitors:
            assert not visitor.done() or visitor.cancelled(), visitor.exception()
            visitor.cancel()
        await asyncio.gather(*visitors, return_exceptions=True)


def measure() -> Iterator[Figure]:
    """Visitors, pages and an honest learner on one server, all from one other process."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        pages, programs = asyncio.run(_siege(running))
    page, code = 1e3 * pages.quantile(0.99), 1e3 * programs.quantile(0.5)
    yield Figure("pages beside 50 endless loops, p99", page, "ms", 150, "lower")
    yield Figure("honest program beside 50 endless loops, median", code, "ms", 500, "lower")
    slowest = 1e3 * programs.quantile(0.99)
    yield Figure("honest program beside 50 endless loops, p99", slowest, "ms", None, "lower")
