"""The sandbox: how quick it is, alone and beside endless loops; every verdict is looked at."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

from app.course.sandbox.process import CallReturned, StoppedRun, WorkerProcess
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.bench.figures import Figure

_HONEST = "def f(x):\n    return sum(n * x for n in range(20))\n"
_LOOP = "def f(x):\n    while True:\n        pass\n"
_CALLS = [(n,) for n in range(10)]
_EXPECTED = tuple(CallReturned(190 * n) for n in range(10))


async def _honest(runner: Runner, learner: str = "") -> float:
    started = time.perf_counter()
    report = await runner.run(_HONEST, "f", _CALLS, learner)
    assert report.outcomes == _EXPECTED, report
    return time.perf_counter() - started


async def _attack(runner: Runner, name: str) -> None:
    while True:
        report = await runner.run(_LOOP, "f", [(1,)], name)
        assert report.outcomes == (StoppedRun("time"),)


async def _measure() -> list[Figure]:
    runner = Runner(Settings())
    await runner.start()
    assert (await runner.ready()).state == "ready"
    try:
        return [*await _alone(runner), *await _beside_loops(runner), *await _workers(runner), *await _soak(runner)]
    finally:
        await runner.close()


async def _alone(runner: Runner) -> list[Figure]:
    times = sorted([await _honest(runner) for _ in range(600)])
    started = time.perf_counter()
    await asyncio.gather(*(_honest(runner) for _ in range(1500)))
    rate = 1500 / (time.perf_counter() - started)
    return [
        Figure("function check, engine, median", 1e3 * times[300], "ms", 5, "lower"),
        Figure("function check, engine, p99", 1e3 * times[593], "ms", 15, "lower"),
        Figure("function checks, engine", rate, "/s", 400, "higher"),
    ]


async def _beside_loops(runner: Runner) -> list[Figure]:
    attackers = [asyncio.create_task(_attack(runner, f"attacker {n}")) for n in range(4)]
    await asyncio.sleep(0.2)
    times = sorted([await _honest(runner, "honest") for _ in range(100)])
    for task in attackers:
        task.cancel()
    await asyncio.gather(*attackers, return_exceptions=True)
    await asyncio.sleep(1)
    return [Figure("honest learner beside 4 endless loops, p95", 1e3 * times[94], "ms", 100, "lower")]


async def _workers(runner: Runner) -> list[Figure]:
    started = time.perf_counter()
    pool = runner.pool
    worker = await WorkerProcess.start(pool.file, pool.paths, lock=pool.lock)
    ready = time.perf_counter() - started
    memory = _memory(worker.process.pid)
    await worker.kill()
    return [Figure("worker ready", ready, "s", 0.3, "lower"), Figure("memory of a worker", memory, "MB", 50, "lower")]


async def _soak(runner: Runner) -> list[Figure]:
    """4,000 runs, one in twenty of them hostile."""
    await asyncio.gather(*(_honest(runner) for _ in range(200)))
    files, memory = _files(), _all_memory(runner)

    async def one(number: int) -> None:
        if number % 20:
            await _honest(runner)
        else:
            await runner.run("def f(x):\n    return f(x) + [x] * 10**7\n", "f", _CALLS)

    for start in range(0, 4000, 500):
        await asyncio.gather(*(one(start + n) for n in range(500)))
    return [
        Figure("files left open by 4,000 runs, 5 % hostile", _files() - files, "", 0, "lower"),
        Figure("memory grown in 4,000 runs", _all_memory(runner) - memory, "MB", 40, "lower"),
    ]


def _files() -> int:
    return len(os.listdir("/proc/self/fd"))


def _memory(process: int | str) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def _all_memory(runner: Runner) -> float:
    return _memory("self") + sum(_memory(w.process.pid) for w in runner.pool.workers)


def measure() -> Iterator[Figure]:
    """All of it in one run."""
    yield from asyncio.run(_measure())
