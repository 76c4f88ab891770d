import asyncio
import math
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.core.errors import AnswerError, UnavailableError
from app.core.folders import ROOT
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Plain, StoppedRun, WorkerProcess
from app.course.sandbox.runner import Runner
from app.server.cache import check_owner
from app.server.config import Settings
from tests.each import each
from tests.waiting import until

pytestmark = pytest.mark.slow(30)

Loop = asyncio.AbstractEventLoop
WORKER = ROOT / "app" / "course" / "sandbox" / "worker.py"
LOOP_FOREVER = "def f(*_):\n    while True:\n        pass\n"

SOLUTIONS = {
    "comprehension": ("def f(n):\n    return [x * x for x in range(n) if x % 2]", (6,), [1, 9, 25]),
    "class": (
        "class P:\n    def __init__(self, n): self.n = n\n    @property\n    def twice(self):\n"
        "        return 2 * self.n\ndef f(n):\n    return P(n).twice",
        (4,),
        8,
    ),
    "dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: float = 0.5\ndef f(n):\n    return P().x * n",
        (4,),
        2.0,
    ),
    "recursion": ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", (20,), math.factorial(20)),
    "generator": ("def g(n):\n    yield from range(n)\ndef f(n):\n    return sum(g(n))", (10,), 45),
    "cache": (
        "from functools import lru_cache\n@lru_cache(None)\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)",
        (80,),
        23416728348467685,
    ),
    "mathematics": ("import math\ndef f(n):\n    return math.ceil(math.log2(n))", (1000,), 10),
    "counter": ("from collections import Counter\ndef f(s):\n    return dict(Counter(s))", ("aab",), {"a": 2, "b": 1}),
    "match": ("def f(x):\n    match x:\n        case [a, *_]: return a\n        case _: return None", ([7, 8],), 7),
    "exception": (
        "def f(x):\n    try:\n        return 1 / x\n    except ZeroDivisionError:\n        return 0.0",
        (0,),
        0.0,
    ),
    "closure": (
        "def f(n):\n    k = 0\n    def up():\n        nonlocal k\n        k += n\n    up(); up()\n    return k",
        (3,),
        6,
    ),
    "tuple": ("def f(t):\n    a, b = t\n    return b, a", ((1, 2.5),), (2.5, 1)),
    "set": ("def f(n):\n    return {x % 3 for x in range(n)}", (9,), {0, 1, 2}),
    "complex": ("def f(z):\n    return z * z", (1 + 2j,), -3 + 4j),
    "big": ("def f(n):\n    return 3 ** n", (200,), 3**200),
    "text": ("def f(s):\n    return f'{s!r:>8}'", ("é",), "     'é'"),
    "infinite": ("def f(x):\n    return -x", (math.inf,), -math.inf),
    "itertools": ("import itertools\ndef f(n):\n    return len(list(itertools.combinations(range(n), 2)))", (6,), 15),
    "random": ("import random\ndef f(s):\n    return random.Random(s).random()", (7,), 0.32383276483316237),
    "statistics": ("import statistics as s\ndef f(x):\n    return s.median(x)", ([3, 1, 2],), 2),
}


def run(loop: Loop, runner: Runner, source: str, *calls: Sequence[Plain]) -> Execution:
    return loop.run_until_complete(runner.run(source, "f", calls))


@each(("source", "arguments", "expected"), SOLUTIONS.values(), ids=SOLUTIONS)
def test_what_students_write_runs(
    loop: Loop, runner: Runner, source: str, arguments: tuple[Plain, ...], expected: Plain
) -> None:
    (outcome,) = run(loop, runner, source, arguments).outcomes
    assert isinstance(outcome, CallReturned), outcome
    assert outcome.value == expected
    assert type(outcome.value) is type(expected)


def test_printed_text_belongs_to_its_call(loop: Loop, runner: Runner) -> None:
    source = "print('body')\ndef f(x):\n    print('call', x)\n    return x\n"
    report = run(loop, runner, source, (1,), (2,))
    assert report.printed == "body\n"
    assert [outcome.printed for outcome in report.outcomes] == ["call 1\n", "call 2\n"]


def test_too_much_print_is_cut_and_says_so(loop: Loop, runner: Runner) -> None:
    (outcome,) = run(loop, runner, "def f():\n    print('x' * 50_000)\n    return 1\n", ()).outcomes
    assert len(outcome.printed) < 17_000
    assert "cut" in outcome.printed


def test_an_error_names_the_line_of_the_learner(loop: Loop, runner: Runner) -> None:
    (outcome,) = run(loop, runner, "def f(x):\n    y = 0\n    return x / y\n", (1,)).outcomes
    assert outcome == CallRaised("ZeroDivisionError", "division by zero", 3)


@each("source", ["def f(:\n", "x = (", "\tdef f(): pass", "f = lambda: ("])
def test_a_syntax_error_has_a_line(loop: Loop, runner: Runner, source: str) -> None:
    body = run(loop, runner, source, ()).body
    assert isinstance(body, CallRaised)
    assert body.type in ("SyntaxError", "IndentationError")
    assert body.line == 1


def test_a_missing_function_is_named(loop: Loop, runner: Runner) -> None:
    body = run(loop, runner, "def g(): pass\n", ()).body
    assert body == CallRaised("Missing", "no function called f is defined", None)


def test_an_endless_loop_ends_after_a_second_of_processor_time(loop: Loop, runner: Runner) -> None:
    before = processor_times(runner)
    report = run(loop, runner, "def f(x):\n    while x:\n        pass\n    return 1\n", (0,), (1,), (0,))
    after = processor_times(runner)
    assert report.outcomes == (CallReturned(1), StoppedRun("time"))
    used = [after[worker] - before[worker] for worker in before.keys() & after.keys()]
    assert 1.0 <= sum(used) < 2.0  # a tenth to see whether it is short, then a second
    assert runner.pool.busy == 0


def processor_times(runner: Runner) -> dict[int, float]:
    """Seconds of processor time that each worker has used."""
    return {worker.process.pid: worker._used() for worker in runner.pool.workers}


def test_an_endless_body_ends_too(loop: Loop, runner: Runner) -> None:
    assert run(loop, runner, "while True: pass\n", ()).body == StoppedRun("time")


def test_memory_is_limited(loop: Loop, runner: Runner) -> None:
    (outcome,) = run(loop, runner, "def f():\n    return len(bytearray(200_000_000))\n", ()).outcomes
    assert isinstance(outcome, CallRaised)
    assert outcome.type == "MemoryError"


def test_a_value_that_is_too_large_is_reported(loop: Loop, runner: Runner) -> None:
    assert run(loop, runner, "def f():\n    return 'x' * 100_000\n", ()).outcomes == (StoppedRun("too large"),)


@each("source", ["x" * 65_000, "s = '\ud800'"])
def test_a_source_that_no_worker_should_see_is_unreadable(loop: Loop, runner: Runner, source: str) -> None:
    with pytest.raises(AnswerError):
        run(loop, runner, source, ())


def test_no_state_survives_a_run(loop: Loop, runner: Runner) -> None:
    source = "import math\ndef f():\n    old = getattr(math, 'kept', 0)\n    math.kept = 1\n    return old\n"
    for _ in range(8):
        assert run(loop, runner, source, ()).outcomes == (CallReturned(0),)


def test_a_canceled_caller_leaks_no_worker(loop: Loop, runner: Runner) -> None:
    async def leave() -> int:
        for _ in range(6):
            waiting = asyncio.create_task(runner.run(LOOP_FOREVER, "f", [()]))
            await until(lambda: runner.pool.busy)
            waiting.cancel()
            await asyncio.wait([waiting])
        await until(lambda: len(runner.pool.workers) == 4 and not runner.pool.busy)
        reports = [await runner.run("def f(): return 5", "f", [()]) for _ in range(8)]
        return sum(report.outcomes == (CallReturned(5),) for report in reports)

    assert loop.run_until_complete(leave()) == 8


def test_an_honest_learner_is_served_while_others_loop(loop: Loop, runner: Runner) -> None:
    """Most of its programs do not wait until one of those that loop is stopped."""

    async def mixed() -> int:
        ended = []

        async def attack(name: str) -> None:
            while True:
                ended.append(await runner.run(LOOP_FOREVER, "f", [()], name))

        attackers = [asyncio.create_task(attack(f"attacker {n}")) for n in range(3)]
        await until(lambda: runner.pool.busy == 3)
        ended.clear()
        for _ in range(20):
            await runner.run("def f(): return 5", "f", [()], "honest")
        for task in attackers:
            task.cancel()
        await asyncio.gather(*attackers, return_exceptions=True)
        return len(ended)

    assert loop.run_until_complete(mixed()) < 10


def health_of(settings: Settings, worker: type[WorkerProcess] = WorkerProcess) -> SandboxHealth:
    async def prepare() -> SandboxHealth:
        made = Runner(settings, worker)
        await made.start()
        health = await made.ready()
        await made.close()
        return health

    return asyncio.run(prepare())


def test_a_component_that_others_could_have_written_is_not_loaded(tmp_path: Path) -> None:
    file = tmp_path / "guest.cwasm"
    file.write_bytes(b"")
    file.chmod(0o666)
    with pytest.raises(UnavailableError, match="another user"):
        check_owner(file)


def test_a_damaged_component_switches_the_sandbox_off_with_a_sentence(runner: Runner, tmp_path: Path) -> None:
    for folder in (Settings().cache / "sandbox").iterdir():
        copy = tmp_path / "sandbox" / folder.name
        copy.mkdir(parents=True, mode=0o700)
        (copy / "guest.cwasm").write_bytes(b"\0" * 1000)
        (copy / "guest.cwasm").chmod(0o600)
    health = health_of(Settings(cache=tmp_path, sandbox_workers=1))
    assert health.state == "off"
    assert "a sandbox worker cannot start" in health.cause
    assert str(tmp_path) not in health.says


def test_a_cache_that_cannot_be_written_switches_the_sandbox_off(tmp_path: Path) -> None:
    (tmp_path / "sandbox").write_text("a file in the way")
    health = health_of(Settings(cache=tmp_path, sandbox_workers=1))
    assert health.state == "off"
    assert "WALLCLOCK_CACHE" in health.cause
    assert str(tmp_path) not in health.says


class Unlocked(WorkerProcess):
    """A worker started without its locks: it stands for a kernel that lacks them."""

    @classmethod
    async def _spawn(cls, component: Path, paths: Sequence[str], *, lock: bool) -> asyncio.subprocess.Process:
        return await super()._spawn(component, paths, lock=False)


def test_a_worker_that_cannot_lock_itself_down_is_not_used(runner: Runner) -> None:
    health = health_of(Settings(sandbox_workers=1), Unlocked)
    assert health.state == "off"
    assert "did not lock itself down" in health.cause


def test_a_worker_closes_the_files_that_it_inherits(runner: Runner) -> None:
    """Such as the socket on which the server listens, which uvloop passes on."""
    pool = runner.pool
    with socket.socket() as listening:
        inherited = f"socket:[{os.fstat(listening.fileno()).st_ino}]"
        command = [sys.executable, "-I", "-S", "-B", str(WORKER), str(pool.file), "96", "lock"]
        with subprocess.Popen(
            [*command, *pool.paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=[listening.fileno()]
        ) as worker:
            assert worker.stdout
            worker.stdout.read(4)  # it is ready
            files = Path(f"/proc/{worker.pid}/fd").iterdir()
            open_files = {path.name: os.readlink(path) for path in files}
            worker.kill()
    assert {"0", "1"} <= open_files.keys()
    assert inherited not in open_files.values()


def test_without_a_sandbox_running_code_is_refused_not_done_elsewhere() -> None:
    made = Runner(Settings())
    with pytest.raises(UnavailableError):
        asyncio.run(made.run("def f(): return 1", "f", [()]))


def test_a_worker_without_a_program_uses_no_processor_time(loop: asyncio.AbstractEventLoop, runner: Runner) -> None:
    """Eight of them once took a twentieth of a core, day and night, to look at the clock."""

    async def used_at_rest() -> float:
        # A worker that an earlier test stopped may only just be starting again.
        await until(lambda: len(runner.pool.workers) == 4 and not runner.pool.busy)
        before = sum(processor_times(runner).values())
        await asyncio.sleep(2)
        return sum(processor_times(runner).values()) - before

    assert loop.run_until_complete(used_at_rest()) < 0.015
