"""Workers die, cannot start, or fail at any operation: every run is answered, no slot is lost."""

import asyncio
import os
import shutil
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import UnavailableError
from app.course.sandbox import pool
from app.course.sandbox.component import component_file
from app.course.sandbox.process import CallReturned, Execution, StoppedRun, WorkerProcess
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each
from tests.sandbox.faults import OPERATIONS, faulty
from tests.waiting import HANGS, until

pytestmark = pytest.mark.slow(100)

Loop = asyncio.AbstractEventLoop
FIVE = "def f():\n    return 5\n"
SLOW_FIVE = "def f():\n    for _ in range(2_000_000): pass\n    return 5\n"
SLOTS = 2
PAUSE = 0.02  # seconds until a failed start is tried again


def in_time(loop: Loop, work: Coroutine[Any, Any, Any]) -> Any:
    return loop.run_until_complete(asyncio.wait_for(work, HANGS))


def slots_are_back(runner: Runner, slots: int = 4) -> bool:
    return len(runner.pool.workers) == len(runner.pool._queue._free) == slots


async def five(runner: Runner, learner: str = "", source: str = FIVE) -> bool:
    report = await runner.run(source, "f", [()], learner)
    return report.outcomes == (CallReturned(5),)


def strike(worker: WorkerProcess, fault: signal.Signals = signal.SIGKILL) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(worker.process.pid, fault)


@each("deaths", [1, 4])
def test_no_run_fails_because_idle_workers_were_killed(loop: Loop, runner: Runner, deaths: int) -> None:
    async def kill_and_run() -> list[bool]:
        await until(lambda: slots_are_back(runner))
        for worker in list(runner.pool.workers)[:deaths]:
            strike(worker)
        # At once, before the pool can notice: the pipes are still open.
        answers = await asyncio.gather(*(five(runner, f"learner {n}") for n in range(6)))
        await until(lambda: slots_are_back(runner))
        return answers

    assert in_time(loop, kill_and_run()) == [True] * 6


def test_an_idle_worker_that_is_killed_is_replaced_at_once(loop: Loop, runner: Runner) -> None:
    async def kill() -> bool:
        await until(lambda: slots_are_back(runner))
        (dead, *_) = runner.pool.workers
        strike(dead)
        await until(lambda: dead not in runner.pool.workers and slots_are_back(runner))
        return await five(runner)

    assert in_time(loop, kill())


def test_a_program_whose_worker_is_killed_runs_again(loop: Loop, runner: Runner) -> None:
    async def kill_busy() -> bool:
        await until(lambda: slots_are_back(runner))
        worker = runner.pool._queue._free[-1]
        running = asyncio.create_task(five(runner, "learner", SLOW_FIVE))
        await until(lambda: worker not in runner.pool._queue._free)
        strike(worker)
        right = await running
        await until(lambda: slots_are_back(runner))
        return right

    assert in_time(loop, kill_busy())


def test_a_frozen_worker_gives_no_verdict_and_is_replaced(loop: Loop, runner: Runner) -> None:
    async def freeze() -> tuple[Execution, bool]:
        await until(lambda: slots_are_back(runner))
        for worker in runner.pool.workers:
            strike(worker, signal.SIGSTOP)
        lost = await runner.run(FIVE, "f", [()])
        for worker in runner.pool.workers:
            strike(worker, signal.SIGCONT)
        await until(lambda: slots_are_back(runner))
        return lost, await five(runner)

    lost, following = in_time(loop, freeze())
    assert lost.outcomes == (StoppedRun("lost"),)
    assert following


def test_a_program_on_a_machine_with_too_much_to_do_is_waited_for(
    loop: Loop, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was called lost when its worker had been given no processor for a second."""
    monkeypatch.setattr("app.course.sandbox.process._QUIET", 0.01)

    async def outrun() -> bool:
        await until(lambda: slots_are_back(runner))
        return await five(runner, "learner", SLOW_FIVE)

    assert in_time(loop, outrun())


def noted(walls: list[float]) -> type[WorkerProcess]:
    """Workers that note for how many seconds a program may run."""

    class Noted(WorkerProcess):
        async def ask(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
            walls.append(wall)
            return await super().ask(request, wall)

    return Noted


def test_the_clock_does_not_end_a_program_while_others_have_the_processor(
    loop: Loop, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.course.sandbox.process._QUIET", HANGS)
    wall, walls = 0.9, list[float]()

    async def stall() -> bool:
        one = await started(noted(walls), Settings(sandbox_workers=1, sandbox_wall=wall))
        await until(lambda: one.health.state == "ready")
        (worker,) = one.pool.workers
        long_five = SLOW_FIVE.replace("2_000", "8_000")
        running = asyncio.create_task(five(one, "learner", long_five))
        await until(lambda: walls[-1] == wall)  # a short time was not enough
        await asyncio.sleep(0.05)
        strike(worker, signal.SIGSTOP)
        await asyncio.sleep(3.5 * wall)
        strike(worker, signal.SIGCONT)
        is_right = await running
        await one.close()
        return is_right

    assert in_time(loop, stall())


def test_a_program_that_is_given_no_processor_is_not_graded(
    loop: Loop, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs, as far as the system says, and gets nowhere."""

    async def starve() -> tuple[Execution, bool]:
        await until(lambda: slots_are_back(runner))
        with monkeypatch.context() as starving:
            starving.setattr("app.course.sandbox.process._QUIET", 0.01)
            starving.setattr("app.course.sandbox.process._STARVED", 0)
            starved = await runner.run(SLOW_FIVE, "f", [()])
        await until(lambda: slots_are_back(runner))
        return starved, await five(runner)

    starved, following = in_time(loop, starve())
    assert starved.outcomes == (StoppedRun("busy"),)
    assert following


def test_more_workers_die_than_there_are(loop: Loop, runner: Runner) -> None:
    async def massacre() -> list[bool]:
        for number in range(12):
            async with asyncio.timeout(HANGS):
                running = asyncio.create_task(five(runner, "learner", SLOW_FIVE))
                await asyncio.sleep(0.002 * number)
                for worker in list(runner.pool.workers)[:1]:
                    strike(worker)
                await asyncio.wait([running])
        await until(lambda: slots_are_back(runner))
        return [await five(runner, "learner") for _ in range(6)]

    assert loop.run_until_complete(massacre()) == [True] * 6


class Mortal(WorkerProcess):
    """A worker that dies of some programs, as if the system lacked memory."""

    def _write(self, frame: bytes) -> None:
        super()._write(frame)
        if b"deadly" in frame:
            strike(self)


async def started(worker: type[WorkerProcess], settings: Settings | None = None) -> Runner:
    runner = Runner(settings or Settings(sandbox_workers=SLOTS), worker, pause=PAUSE)
    await runner.start()
    return runner


async def ready(runner: Runner) -> None:
    await until(lambda: runner.health.state == "ready" and slots_are_back(runner, SLOTS))


def test_a_program_that_kills_its_worker_is_tried_twice_and_no_more(loop: Loop, runner: Runner) -> None:
    async def deadly() -> tuple[Execution, int, bool]:
        mortal = await started(Mortal)
        await ready(mortal)
        before = set(mortal.pool.workers)
        report = await mortal.run("deadly = 1\n" + FIVE, "f", [()])
        dead = before - mortal.pool.workers
        await ready(mortal)
        answer = report, len(dead), await five(mortal)
        await mortal.close()
        return answer

    report, dead, following = in_time(loop, deadly())
    assert report.outcomes == (StoppedRun("lost"),)
    assert dead == 2
    assert following


async def journey(runner: Runner) -> None:
    """Two learners, one of them twice at once: each run is right, lost, or refused with a reason."""
    runs = (runner.run(FIVE, "f", [()], learner) for learner in ("a", "a", "b"))
    for result in await asyncio.gather(*runs, return_exceptions=True):
        if isinstance(result, UnavailableError):
            assert str(result) == runner.health.says or "sandbox" in str(result)
        else:
            assert isinstance(result, Execution), result
            assert result.outcomes in [(CallReturned(5),), (StoppedRun("lost"),)]


@each("operation", OPERATIONS)
def test_every_operation_of_a_run_may_fail(loop: Loop, runner: Runner, operation: str) -> None:
    async def sweep() -> int:
        fault, workers = faulty()
        swept = await started(workers)
        await ready(swept)
        number, met = 0, True
        while met:
            number += 1
            with fault.at(operation, number):
                (dead, *_) = swept.pool.workers
                strike(dead)  # so that a worker is started, too
                async with asyncio.timeout(HANGS):
                    await journey(swept)
                await until(lambda dead=dead: dead not in swept.pool.workers)  # type: ignore[misc]
                await ready(swept)
                met = fault.met
            assert await five(swept, "a")
            assert slots_are_back(swept, SLOTS)
        await swept.close()
        return number

    assert loop.run_until_complete(sweep()) > 1


@each("operation", ["spawn", "write", "read"])
def test_every_operation_of_a_start_may_fail(operation: str) -> None:
    async def sweep() -> int:
        number, met = 0, True
        while met:
            number += 1
            fault, workers = faulty()
            with fault.at(operation, number):
                starting = await started(workers)
                async with asyncio.timeout(HANGS):
                    health = await starting.ready()
                assert health.state == "ready" or health.cause
                await ready(starting)
                met = fault.met
            assert await five(starting, "a")
            await starting.close()
        return number

    assert asyncio.run(sweep()) > SLOTS


def deaf(asked: asyncio.Event) -> type[WorkerProcess]:
    """Workers at which a cancellation is lost, as in `wait_for` before Python 3.12."""

    class Deaf(WorkerProcess):
        async def ask(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
            answering = asyncio.ensure_future(super().ask(request, wall))
            asked.set()
            try:
                return await asyncio.shield(answering)
            except asyncio.CancelledError:
                return await answering

    return Deaf


def test_a_sandbox_that_is_closed_in_its_self_test_ends(loop: Loop, runner: Runner) -> None:
    async def close_early() -> set[WorkerProcess]:
        asked = asyncio.Event()
        starting = await started(deaf(asked))
        await asked.wait()
        assert len(starting.pool.workers) == SLOTS
        assert starting.health.state == "starting"
        await starting.close()
        return starting.pool.workers

    assert in_time(loop, close_early()) == set()


def test_a_run_waits_for_a_sandbox_that_starts(loop: Loop, runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_PREPARED", HANGS)

    async def run_early() -> bool:
        starting = await started(WorkerProcess)
        assert starting.health.state == "starting"
        try:
            return await five(starting)
        finally:
            await starting.close()

    assert in_time(loop, run_early())


class Asleep(WorkerProcess):
    """A worker that does not start."""

    @classmethod
    async def start(cls, *_: object, **__: object) -> "Asleep":
        await asyncio.sleep(HANGS)
        raise AssertionError


def test_a_run_does_not_wait_for_long(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_PREPARED", 0.05)

    async def run_early() -> None:
        starting = await started(Asleep)
        with pytest.raises(UnavailableError, match="being prepared"):
            await five(starting)
        await starting.close()

    in_time(loop, run_early())


@pytest.fixture
def own_cache(runner: Runner, tmp_path: Path) -> Path:
    """A cache with the component in it, which a test may damage."""
    file = component_file(tmp_path)
    shutil.copytree(component_file(Settings().cache).parent, file.parent)
    return tmp_path


def writable_by_others(file: Path) -> Callable[[], None]:
    file.chmod(0o666)
    return lambda: file.chmod(0o600)


def damaged(file: Path) -> Callable[[], None]:
    good = file.rename(file.with_suffix(".good"))
    file.write_bytes(b"\0" * 1000)
    file.chmod(0o600)

    def mend() -> None:
        good.replace(file)

    return mend


def in_the_way(file: Path) -> Callable[[], None]:
    away = file.parent.rename(file.parent.with_name("away"))
    file.parent.write_text("a file where a folder should be")

    def mend() -> None:
        file.parent.unlink()
        away.rename(file.parent)

    return mend


@pytest.mark.parametrize("spoil", [writable_by_others, damaged, in_the_way])
def test_a_sandbox_that_can_start_no_worker_is_off_until_the_cause_is_gone(
    loop: Loop, own_cache: Path, spoil: Callable[[Path], Callable[[], None]]
) -> None:
    async def go_through() -> None:
        settings = Settings(cache=own_cache, sandbox_workers=SLOTS)
        runner = await started(WorkerProcess, settings)
        await ready(runner)
        mend = spoil(runner.pool.file)
        for worker in list(runner.pool.workers):
            strike(worker)
        with pytest.raises(UnavailableError, match="cannot run programs right now"):
            await asyncio.wait_for(forever(lambda: five(runner, "learner")), HANGS)
        assert runner.health.state == "off"
        mend()
        await ready(runner)
        assert await five(runner, "learner")
        await runner.close()

    in_time(loop, go_through())


async def forever(work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await work()
