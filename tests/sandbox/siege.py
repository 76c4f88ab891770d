"""Run all attacks against one runner, and check what must hold after each of them.

    python -m tests.sandbox.siege CACHE

prints each rule that was broken.
"""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import AnswerError
from app.course.sandbox.process import CallReturned, Execution
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.waiting import HANGS

# Those of the second and the third folder play the guest's protocol. None is read as Python but by the sandbox.
_PROGRAMS = Path(__file__).parent / "attacks"
ATTACKS = tuple(_PROGRAMS / name for name in ("plain", "protocol", "function"))
ON_SCHEDULES = _PROGRAMS / "schedule"  # programs with a function program(rank)
INPUTS, EXPECTED = (1, 7, 40), (913377, 271829, 606842)  # a table: no one can know it
HONEST = f"def solve(x):\n    return {dict(zip(INPUTS, EXPECTED, strict=True))}[x]\n"
CANARY = "canary-6b1f0c"
WALL = 0.3
LONGEST = WALL + 1.2  # seconds of processor time of a program, in all workers
LONGEST_STALL = 0.1  # seconds in which the event loop does nothing else
LARGEST_WORKER = 250.0  # MB
FOLDERS = (Path("/tmp"), Path("/dev/shm"), Path.cwd())


def attacks() -> Mapping[str, str]:
    """The hostile programs, by name."""
    return sources(*ATTACKS) | {
        "83_source_long": "# " + "A" * 1_000_000,
        "b1_many_lines": "\n" * 70_000,
        "b2_many_parentheses": "x = " + "(" * 30_000 + ")" * 30_000,
        "b3_many_names": "\n".join(f"x{n} = {n}" for n in range(5_000)),
        "b4_long_expression": "x = " + "+".join("1" * 15_000),
    }


def sources(*folders: Path) -> dict[str, str]:
    """The programs in *folders*, by name."""
    return {
        f"{folder.name}/{file.stem}": file.read_bytes().decode("utf-8", "surrogateescape")
        for folder in folders
        for file in folder.glob("*.txt")
    }


async def besiege(runner: Runner) -> list[str]:
    """Every rule that an attack broke."""
    os.environ["CANARY_ENV"] = CANARY
    broken: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        for name, source in sorted(attacks().items()):
            broken += [f"{name}: {says[:200]}" async for says in _attack(runner, source, listener)]
    return broken


async def _attack(runner: Runner, source: str, listener: socket.socket) -> AsyncIterator[str]:
    before = _processes()
    async with watched(runner) as watch, asyncio.timeout(HANGS):
        report = await _submitted(runner, source)
    for says in _revealed(report) if report else ():
        yield says
    for says in watch.broken():
        yield says
    if written := [p for folder in FOLDERS if folder.is_dir() for p in folder.glob("pwned*")]:
        yield f"wrote {written}"
    if _connected(listener):
        yield "connected to a port of this machine"
    async for says in _next_learner(runner):
        yield says
    if _processes() > before:
        yield "left a process behind"


async def _submitted(runner: Runner, source: str) -> Execution | None:
    """What became of a program; None if it was refused."""
    with suppress(AnswerError):
        return await runner.run(source, "solve", [(x,) for x in INPUTS], "attacker")
    return None


def _revealed(report: Execution) -> Iterator[str]:
    values = [o.value for o in report.outcomes if isinstance(o, CallReturned)]
    if len(values) == len(EXPECTED) and all(
        type(v) in (int, float) and v == e for v, e in zip(values, EXPECTED, strict=True)
    ):
        yield "passed"
    text = repr(report)
    if len(text.encode()) > 400_000:  # encode() itself refuses lone surrogates
        yield "replied with too much"
    for secret in (CANARY, "root:x:", "271829", "606842"):
        if secret in text:
            yield f"replied with the secret {secret}"


async def _next_learner(runner: Runner) -> AsyncIterator[str]:
    if isinstance(runner, Runner) and (runner.pool.busy or runner.pool.waiting):
        yield "delays the next learner: it still has a worker"
    async with asyncio.timeout(HANGS):
        report = await runner.run(HONEST, "solve", [(x,) for x in INPUTS], "honest")
    if [o.value for o in report.outcomes if isinstance(o, CallReturned)] != list(EXPECTED):
        yield f"broke the next learner: {report}"


@dataclass(slots=True)
class Watch:
    """What a program costs: the longest stall of the event loop, the largest worker, and work.

    Seconds are those of processors, so that it does not matter what else a machine does.
    """

    stall: float = 0.0
    memory: float = 0.0
    work: float = 0.0

    def broken(self) -> Iterator[str]:
        if self.stall > LONGEST_STALL:
            yield f"stalled the event loop for {self.stall:.2f} s"
        if self.memory > LARGEST_WORKER:
            yield f"a worker took {self.memory:.0f} MB"
        if self.work > LONGEST:
            yield f"took {self.work:.2f} s"


@asynccontextmanager
async def watched(runner: object) -> AsyncIterator[Watch]:
    """Watches while something runs; a runner without workers shows no memory."""
    watch, before = Watch(), _worked(runner)
    task = asyncio.create_task(_watch(watch, runner))
    await asyncio.sleep(0)
    yield watch
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    watch.memory = max([watch.memory, *_peaks(runner)])
    after = _worked(runner)
    watch.work = sum(after[worker] - before[worker] for worker in after.keys() & before.keys())


async def _watch(watch: Watch, runner: object) -> None:
    looked = time.perf_counter()
    while True:
        # Of a gap between two ticks only what this process worked in it is a stall: what other
        # processes took is the machine's affair.
        before, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(0.002)
        gap, worked = time.perf_counter() - before, time.process_time() - used
        watch.stall = max(watch.stall, min(gap, worked))
        if time.perf_counter() - looked > 0.05:
            looked = time.perf_counter()
            watch.memory = max([watch.memory, *_peaks(runner)])


def _peaks(runner: object) -> Iterator[float]:
    """The most memory that each worker has had, in MB."""
    for worker in runner.pool.workers if isinstance(runner, Runner) else ():
        with suppress(OSError, IndexError):
            status = Path(f"/proc/{worker.process.pid}/status").read_text()
            yield int(status.split("VmHWM:")[1].split()[0]) / 1000


def _worked(runner: object) -> dict[int, float]:
    """Seconds of processor time of each worker; none of a runner without workers."""
    workers = runner.pool.workers if isinstance(runner, Runner) else ()
    return {worker.process.pid: worker._used() for worker in workers}


def _connected(listener: socket.socket) -> bool:
    try:
        listener.accept()
    except BlockingIOError:
        return False
    return True


def _processes() -> int:
    """The child processes of this one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(children.read_text().split()) if children.exists() else 0


async def main(cache: Path) -> int:
    runner = Runner(Settings(cache=cache, sandbox_workers=2, sandbox_wall=WALL))
    await runner.start()
    health = await runner.ready()
    broken = [health.says] if health.state != "ready" else await besiege(runner)
    await runner.close()
    for says in broken:
        sys.stdout.write(f"{says}\n")
    sys.stdout.write(f"uid {os.geteuid()}: {len(attacks())} attacks\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]))))
