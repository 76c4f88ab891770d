"""Some visitors ask for as much as they can: what is left for everybody else."""

import asyncio
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

from app.core.folders import ROOT
from app.core.yaml_file import read_document
from tests.bench.figures import Figure
from tests.bench.load import Load, Running, server

_VISITORS = 50
_SECONDS = 20.0
_PAUSE = 0.05  # seconds from one request of an honest learner to the next
_PROGRAM = "/exercises/collectives/write-ring-time"
_PAGE = "/explore/ring"
_SIMPLE = "/glossary"
_PLAYED = "/exercises/puzzles/hide-the-sums"
_PARTS = "layers=1000000000000&stages=1000000"
_GREEDY = "192.0.2.9"  # as a trusted proxy on this machine would name it
_CONNECTIONS = 8  # of the address that repeats the dearest request
_ROUNDS = 4  # with that address and without it, in turn: other work on the machine hits both
_LOOP = "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n    while True:\n        pass\n"


class _Browser:
    """A visitor on one connection, who keeps the cookie; of another *address* if one is given."""

    def __init__(self, running: Running, address: str = "") -> None:
        self._port = running.port
        self._cookie = ""
        self._forwarded = f"X-Forwarded-For: {address}\r\n" if address else ""

    async def open(self) -> "_Browser":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{self._forwarded}{self._cookie}"
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
            _timed(running, "GET", _PAGE, b"", b"</html>"), _timed(running, "POST", _PROGRAM, right, b"Right")
        )
    finally:
        for visitor in visitors:
            assert not visitor.done() or visitor.cancelled(), visitor.exception()
            visitor.cancel()
        await asyncio.gather(*visitors, return_exceptions=True)


def _dear(number: int) -> dict[str, tuple[str, str, bytes]]:
    """Requests that cost much; no two are the same."""
    program = "def program(rank):\n    return [('F', 0, rank)] * 2000\n" + " " * (number % 999)
    pipeline = "schedule=zb_h1&stages=16&microbatches=64&virtual=8&against=interleaved"
    times = f"forward={number % 9000 + 1000}+ms&input=7290+ms&weight=10000+ms"
    return {
        "layouts": ("GET", f"/explore/fit?model=DeepSeek-V3&gpus=1024&batch={512 + number}", b""),
        "a schedule": ("POST", _PLAYED, urlencode({"answer": program, "action": "run"}).encode()),
        "an explorer": ("GET", f"/explore/pipeline?{pipeline}&{times}", b""),
        "a formula": ("GET", f"/formulas/pipeline.layers_per_stage?{_PARTS}", b""),
    }


async def _repeats(running: Running, name: str, numbers: Iterator[int]) -> None:
    browser = await _Browser(running, address=_GREEDY).open()
    while True:
        await browser.ask(*_dear(next(numbers))[name])


async def _pages(running: Running, seconds: float) -> list[float]:
    browser = await _Browser(running).open()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while (started := time.perf_counter()) < until:
        await browser.ask("GET", _SIMPLE)
        times.append(time.perf_counter() - started)
        await asyncio.sleep(_PAUSE / 5)
    return times


async def _beside(running: Running, name: str) -> tuple[list[float], list[float]]:
    """Seconds of simple pages while one address repeats a request, and while it does not."""
    numbers, beside, alone = count(), list[float](), list[float]()
    await _pages(running, 1)
    for _ in range(_ROUNDS):
        alone += await _pages(running, _SECONDS / _ROUNDS)
        asks = [asyncio.create_task(_repeats(running, name, numbers)) for _ in range(_CONNECTIONS)]
        beside += await _pages(running, _SECONDS / _ROUNDS)
        assert not any(task.done() for task in asks)
        for task in asks:
            task.cancel()
        await asyncio.gather(*asks, return_exceptions=True)
    return beside, alone


def _share(beside: Sequence[float], alone: Sequence[float]) -> float:
    return _late(beside) / _late(alone)


def _late(times: Sequence[float]) -> float:
    return sorted(times)[int(0.99 * len(times))]


def _dearest() -> Iterator[Figure]:
    """One address repeats what costs most, on several connections, with the usual allowances."""
    shares = {}
    for name in _dear(0):
        # A server each: the budget of the address is full again.
        with tempfile.TemporaryDirectory() as folder, server(Path(folder), WALLCLOCK_PROCESSOR_ALLOWED="40") as running:
            shares[name] = _share(*asyncio.run(_beside(running, name)))
    worst = max(shares, key=lambda name: shares[name])
    says = f"simple page beside 8 × {worst}, p99 / p99 alone"
    yield Figure(says, shares[worst], "", 3, "lower")


def measure() -> Iterator[Figure]:
    """Visitors, pages and an honest learner on one server, all from one other process."""
    yield from _dearest()
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        pages, programs = asyncio.run(_siege(running))
    page, code = 1e3 * pages.quantile(0.99), 1e3 * programs.quantile(0.5)
    yield Figure("pages beside 50 endless loops, p99", page, "ms", 150, "lower")
    yield Figure("honest program beside 50 endless loops, median", code, "ms", 500, "lower")
    slowest = 1e3 * programs.quantile(0.99)
    yield Figure("honest program beside 50 endless loops, p99", slowest, "ms", None, "lower")
