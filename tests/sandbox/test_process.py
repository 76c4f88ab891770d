"""A worker's hostile replies, a worker that is another program, and the pool of such workers."""

import asyncio
import ctypes
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import AnswerError, UnavailableError
from app.course.sandbox import process
from app.course.sandbox.component import component_file
from app.course.sandbox.lockdown import lock_down
from app.course.sandbox.pool import slots_of
from app.course.sandbox.process import (
    SOURCE_LIMIT,
    CallRaised,
    CallReturned,
    DiedError,
    Execution,
    Outcome,
    StarvedError,
    StoppedRun,
    WorkerLostError,
    WorkerProcess,
    execution_of,
    request_of,
    verify_isolation,
    verify_lockdown,
)
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each
from tests.waiting import HANGS, until

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the locks are those of Linux")


def reply(inner: object, printed: object = "") -> str:
    return json.dumps([json.dumps(inner), printed])


def raised(*parts: object) -> str:
    return reply({"raised": list(parts)})


BODY, ONE, TWO = reply({}, "hello"), reply({"value": 1}), reply({"value": 2}, "two")
RETURNED = (CallReturned(1), CallReturned(2, "two"))


@each(
    ("answer", "expected"),
    [
        ({"replies": [BODY, ONE, TWO], "seconds": 1.5}, Execution(None, "hello", RETURNED, 1.5)),
        ({"replies": [BODY, ONE, TWO, TWO], "seconds": 1}, Execution(None, "hello", RETURNED, 1.0)),
        ({"replies": [BODY, ONE, TWO], "seconds": "1"}, Execution(None, "hello", RETURNED, 0.0)),
        ({"replies": [BODY, ONE]}, Execution(None, "hello", (CallReturned(1), StoppedRun("refused")), 0.0)),
        (
            {"replies": [BODY, ONE], "stopped": "time"},
            Execution(None, "hello", (CallReturned(1), StoppedRun("time")), 0.0),
        ),
        ({"replies": [BODY], "stopped": "memory"}, Execution(None, "hello", (StoppedRun("memory"),), 0.0)),
        ({"replies": [BODY], "stopped": "busy"}, Execution(None, "hello", (StoppedRun("refused"),), 0.0)),
        ({"replies": [], "stopped": "stack"}, Execution(StoppedRun("stack"), "", (), 0.0)),
        ({"replies": []}, Execution(StoppedRun("refused"), "", (), 0.0)),
        ({"replies": "junk"}, Execution(StoppedRun("refused"), "", (), 0.0)),
        ({}, Execution(StoppedRun("refused"), "", (), 0.0)),
        ({"replies": ["junk", ONE]}, Execution(StoppedRun("refused"), "", (), 0.0)),
        ({"replies": [BODY, "junk", TWO]}, Execution(None, "hello", (StoppedRun("refused"),), 0.0)),
        ({"replies": [BODY, "junk"], "stopped": "time"}, Execution(None, "hello", (StoppedRun("refused"),), 0.0)),
        (
            {"replies": [reply({"raised": ["A", "b", 3]}, "said"), ONE]},
            Execution(CallRaised("A", "b", 3, "said"), "said", (), 0.0),
        ),
    ],
)
def test_an_answer_is_the_body_and_each_call_until_one_is_stopped(
    answer: dict[str, object], expected: Execution
) -> None:
    assert execution_of(answer, 2) == expected


def outcome_of(text: object) -> Outcome:
    (outcome,) = execution_of({"replies": [BODY, text]}, 1).outcomes
    return outcome


MISSING = "no function called f is defined"


@each(
    ("text", "outcome"),
    [
        (1, StoppedRun("too large")),
        (ONE + " " * (200_000 - len(ONE)), CallReturned(1)),
        (ONE + " " * (200_001 - len(ONE)), StoppedRun("too large")),
        (reply({"stopped": "too large"}, "x"), StoppedRun("too large", "x")),
        (reply({"stopped": "time"}), StoppedRun("refused")),
        (reply({"value": {"float": "x"}}), StoppedRun("refused")),
        (reply({"value": {"float": "inf"}}), CallReturned(float("inf"))),
        (reply({}), StoppedRun("refused")),
        (reply([]), StoppedRun("refused")),
        (json.dumps(["[" * 100_000, ""]), StoppedRun("refused")),
        (reply({"value": 1}, 5), StoppedRun("refused")),
        (reply({"value": 1}, "a\0b\ud800"), CallReturned(1, "a�b?")),
        (reply({"value": 1}, "x" * 17_001), CallReturned(1, "x" * 17_000)),
        (raised("A", "b", 1), CallRaised("A", "b", 1)),
        (raised("A", "b", 0), CallRaised("A", "b", None)),
        (raised("A", "b", True), CallRaised("A", "b", None)),
        (raised("A", "b", 64_000), CallRaised("A", "b", 64_000)),
        (raised("A", "b", 64_001), CallRaised("A", "b", None)),
        (raised("A" * 81, "b" * 301, None), CallRaised("A" * 80, "b" * 300, None)),
        (raised("A", "b"), StoppedRun("refused")),
        (raised("A", 5, 1), StoppedRun("refused")),
        (reply({"raised": "abc"}), StoppedRun("refused")),
        (raised("Missing", MISSING, None), CallRaised("Missing", MISSING, None)),
        (raised("Missing", f"{MISSING}!", None), CallRaised("solution.Missing", f"{MISSING}!", None)),
        (raised("Other", MISSING, None), CallRaised("Other", MISSING, None)),
    ],
)
def test_a_reply_that_a_learner_forges_is_never_more_than_it_may_be(text: object, outcome: Outcome) -> None:
    assert outcome_of(text) == outcome


def test_a_program_may_have_64_000_bytes() -> None:
    at_most = "é" * (SOURCE_LIMIT // 2)
    assert SOURCE_LIMIT == 64_000
    assert request_of(at_most, "f", [(1.5, (2,)), ()]) == {
        "source": at_most,
        "entry": "f",
        "calls": [[{"float": "1.5"}, {"tuple": [2]}], []],
    }
    with pytest.raises(AnswerError, match="64,001 bytes of at most 64,000"):
        request_of(at_most + "x", "f", [])
    with pytest.raises(AnswerError, match="not valid Unicode"):
        request_of("\ud800", "f", [])


HONEST = {"replies": [reply({}), reply({"value": {"tuple": [1, {"float": "2.5"}, "three"]}}, "ready\n")]}
DONE = {"replies": [reply({}), reply({"value": 0})]}
DOORS = {"open(": "open a file", "socket": "import socket", "fork": "start a process", "bytearray": "take 10 GB"}


async def guarded(request: Mapping[str, object], _wall: float = 1.0) -> dict[str, object]:
    """What a good worker answers in the self-test; 7, to any other program."""
    source = str(request["source"])
    if "ready" in source:
        return dict(HONEST)
    if "while True" in source:
        return {"replies": [reply({})], "stopped": "time"}
    if any(door in source for door in DOORS):
        return {"replies": [reply({}), raised("PermissionError", "no", 1)]}
    return {"replies": [reply({}), reply({"value": 7})]}


@each(
    ("sign", "answer", "says"),
    [
        ("no fault", DONE, ""),
        ("ready", DONE, "an honest program does not run"),
        ("ready", {**HONEST, "replies": [reply({}), HONEST["replies"][1].replace("ready", "")]}, "honest"),
        *((sign, DONE, f"a program could {what}") for sign, what in DOORS.items()),
        *((sign, {"stopped": "memory", "replies": [reply({})]}, "") for sign in DOORS),
        ("while True", DONE, "an endless loop was not stopped"),
        ("while True", {"replies": [reply({})], "stopped": "memory"}, "an endless loop was not stopped"),
    ],
)
def test_the_self_test_names_what_a_program_could_do(sign: str, answer: dict[str, object], says: str) -> None:
    asked = []

    async def ask(request: dict[str, object], wall: float) -> dict[str, object]:
        asked.append(str(request["source"]))
        return answer if sign in asked[-1] else await guarded(request)

    if says:
        with pytest.raises(UnavailableError, match=says):
            asyncio.run(verify_isolation(ask))
    else:
        asyncio.run(verify_isolation(ask))
        assert len(asked) == 6


# A worker that is another program: it greets, then does to each frame what the frame's source says.
_GREETS = """
import json, os, sys, time
def send(answer):
    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sys.stdout.buffer.write(len(text).to_bytes(4, "big") + text)
    sys.stdout.buffer.flush()
def read():
    return json.loads(sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(4), "big")))
"""


def worker_of(code: str) -> type[WorkerProcess]:
    """Workers that are the Python program *code* rather than the sandbox's."""

    class Scripted(WorkerProcess):
        @classmethod
        async def _spawn(cls, component: Path, paths: Sequence[str], *, lock: bool) -> asyncio.subprocess.Process:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-S", "-c", _GREETS + code),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=4 << 20,
            )

    return Scripted


def in_time(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, HANGS))


def asked(code: str, *, lock: bool = False, wall: float = 0.1) -> dict[str, object]:
    """What a worker answers that is *code*."""

    async def ask() -> dict[str, object]:
        worker = await worker_of(code).start(Path(), [], lock=lock)
        try:
            return await worker.ask({"n": 1}, wall)
        finally:
            await worker.kill()
            assert worker.process.returncode is not None

    answer: dict[str, object] = in_time(ask())
    return answer


HELLO = "send({'locked': False})\n"
ECHO = "send(read())\n"


def test_a_worker_is_asked_within_a_time_and_answers() -> None:
    assert asked(HELLO + ECHO, wall=0.25) == {"n": 1, "wall": 0.25}
    large = f"send({{'x': 'y' * {40 << 10}}})\n"
    assert asked(HELLO + "read()\n" + large) == {"x": "y" * (40 << 10)}
    assert asked("send({'locked': True})\n" + ECHO, lock=True)["n"] == 1


@each(
    ("code", "lock", "says"),
    [
        (HELLO, True, "did not lock itself down"),
        ("send({})\n", True, "did not lock itself down"),
        ("send({'locked': True})\n", False, "did not lock itself down"),
        ("sys.exit('first line\\nthe cause')", False, "cannot start: the cause"),
        ("", False, "cannot start: it gave no reason"),
        ("send(b'junk')", False, "cannot start: it gave no reason"),
        ("send([1])", False, "cannot start: it gave no reason"),
    ],
)
def test_a_worker_that_does_not_greet_as_it_should_is_not_used(code: str, lock: bool, says: str) -> None:
    with pytest.raises(UnavailableError, match=says):
        asked(code, lock=lock)


@each(
    ("code", "error"),
    [
        ("", DiedError),
        ("read()\nsys.stdout.buffer.write(b'12')\n", DiedError),
        ("read()\nsend(b'junk')\n", WorkerLostError),
        ("read()\nsend([1])\n", WorkerLostError),
        (f"read()\nsys.stdout.buffer.write(({(4 << 20) + 1}).to_bytes(4, 'big') + b'{{}}')\n", WorkerLostError),
        (f"read()\nsys.stdout.buffer.write(({4 << 20}).to_bytes(4, 'big') + b'{{}}')\n", DiedError),
    ],
)
def test_only_a_worker_that_died_is_worth_another_one(code: str, error: type[Exception]) -> None:
    with pytest.raises(WorkerLostError) as found:
        asked(HELLO + code)
    assert found.type is error


@linux
def test_a_worker_that_rests_is_lost_and_one_that_works_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_QUIET", 0.02)
    monkeypatch.setattr(process, "_LOOK", 0.002)
    work = "read()\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\nsend({{'done': 1}})\n"
    assert asked(HELLO + work.format(0.1)) == {"done": 1}
    with pytest.raises(WorkerLostError) as found:
        asked(HELLO + "read()\ntime.sleep(60)\n")
    assert found.type is WorkerLostError
    monkeypatch.setattr(process, "_WORK", 0.01)
    with pytest.raises(WorkerLostError) as found:  # its own clock should have stopped it
        asked(HELLO + work.format(60))
    assert found.type is WorkerLostError
    assert asked(HELLO + work.format(0.05), wall=60.0) == {"done": 1}
    monkeypatch.setattr(process, "_STARVED", 0)
    with pytest.raises(StarvedError):
        asked(HELLO + work.format(60), wall=60.0)


def locked(checks: Callable[[], list[object]]) -> Any:
    """What *checks* finds in a process that has locked itself down."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            lock_down(write)
            found: object = checks()
        except BaseException as error:  # noqa: BLE001 - the other process reports it
            found = repr(error)
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(text)


def fails(act: Callable[[], object]) -> str:
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "nothing"


@linux
def test_a_process_that_is_locked_down_can_only_calculate_and_answer() -> None:
    here, there = socket.socketpair()
    with here, there:
        found = locked(
            lambda: [
                *(
                    fails(partial(os.open, path, os.O_RDONLY))
                    for path in ("/etc/passwd", "/dev/null", "/proc/self/status")
                ),
                fails(socket.socket),
                fails(os.fork),
                fails(lambda: os.kill(os.getppid(), 0)),
                fails(lambda: os.write(2, b"")),
                fails(lambda: here.send(b"x")),
                fails(lambda: os.getpid()),
                len(bytearray(50 << 20)) >> 20,
            ]
        )
    assert found == ["PermissionError"] * 8 + ["nothing", 50]


@linux
def test_a_worker_that_the_kernel_does_not_call_locked_is_refused() -> None:
    async def verify() -> None:
        worker = await worker_of(HELLO + ECHO).start(Path(), [], lock=False)
        try:
            verify_lockdown(worker)
        finally:
            await worker.kill()

    with pytest.raises(UnavailableError, match="not locked down"):
        in_time(verify())


GUEST = f"""
sys.path.append({str(Path(process.__file__).parent)!r})
from lockdown import lock_down
lock_down(1)
send({{"locked": True}})
while True:
    asked = read()
    source = asked["source"]
    reply = lambda inner, printed="": json.dumps([json.dumps(inner), printed])
    answer = {{"replies": [reply({{}}), reply({{"value": 7}})], "used": 0.01, "seconds": 0.5}}
    if "ready" in source:
        answer["replies"] = {HONEST["replies"]!r}
    elif "deadly" in source:
        break
    elif "sleepy" in source:
        time.sleep(60)
    elif "while True" in source or "slow" in source and asked["wall"] < 1:
        answer["replies"].pop()
        answer["stopped"] = "time"
    elif any(door in source for door in {list(DOORS)!r}):
        answer["replies"][1] = reply({{"raised": ["PermissionError", "no", 1]}})
    elif "large" in source:
        answer["replies"][1] = reply({{"value": "x" * 30_000}})
    send(answer)
"""


@pytest.fixture
def given(tmp_path: Path) -> Settings:
    """Settings with a component in their cache, which no worker here reads."""
    file = component_file(tmp_path)
    file.parent.mkdir(parents=True, mode=0o700)
    file.touch(0o600)
    return Settings(cache=tmp_path, sandbox_workers=2, sandbox_wall=2.0)


async def pooled(given: Settings, code: str) -> Runner:
    runner = Runner(given, worker_of(code), pause=0.01)
    await runner.start()
    await runner.ready()
    return runner


SEVEN = (CallReturned(7),)


@linux
def test_a_run_gets_more_time_if_a_short_one_was_not_enough(given: Settings) -> None:
    async def runs() -> list[tuple[Outcome, ...]]:
        runner = await pooled(given, GUEST)
        assert (runner.health.state, len(runner.pool.workers), runner.pool.busy) == ("ready", 2, 0)
        found = [(await runner.run(source, "f", [()])).outcomes for source in ("x", "slow", "while True", "large")]
        hasty = await pooled(given.model_copy(update={"sandbox_wall": 0.9}), GUEST)
        found.append((await hasty.run("slow", "f", [()])).outcomes)
        assert (await runner.run("x", "f", [()])).seconds == 0.5
        for one in (runner, hasty):
            await one.close()
            assert (one.health.state, one.health.says) == ("off", "The server is stopping.")
            assert not one.pool.workers
            with pytest.raises(UnavailableError, match="stopping"):
                await one.run("x", "f", [()])
        return found

    stopped = (StoppedRun("time"),)
    assert in_time(runs()) == [SEVEN, SEVEN, stopped, (CallReturned("x" * 30_000),), stopped]


@linux
def test_workers_that_die_are_replaced_and_a_program_kills_two_at_most(given: Settings) -> None:
    async def runs() -> None:
        runner = await pooled(given, GUEST)
        before = set(runner.pool.workers)
        lost = await runner.run("deadly", "f", [()])
        assert lost == Execution(None, "", (StoppedRun("lost"),), 2.0)
        await until(lambda: len(runner.pool.workers) == 2 and not before & runner.pool.workers)
        assert (await runner.run("x", "f", [()])).outcomes == SEVEN
        await runner.close()

    in_time(runs())


@linux
@each(
    ("code", "cause"),
    [
        ("sys.exit('no memory')", "a sandbox worker cannot start: no memory"),
        (GUEST.replace("lock_down(1)", ""), "a worker of the sandbox is not locked down; the kernel needs seccomp"),
        (GUEST.replace('"ready"', '"other"'), "the sandbox fails its self-test: an honest program does not run"),
    ],
)
def test_a_sandbox_that_does_not_start_is_off_and_its_log_says_why(
    given: Settings, caplog: pytest.LogCaptureFixture, code: str, cause: str
) -> None:
    async def runs() -> None:
        caplog.clear()
        runner = await pooled(given, code)
        assert (runner.health.state, runner.health.cause) == ("off", cause)
        with pytest.raises(UnavailableError, match="cannot run programs right now"):
            await runner.run("x", "f", [()])
        await asyncio.sleep(0.3)  # it is tried again, and the log is not told again
        await runner.close()
        assert not runner.pool.workers

    in_time(runs())
    assert [one.getMessage() for one in caplog.records if one.name.startswith("app")] == [
        f"the sandbox cannot start: {cause}"
    ]


def test_four_programs_share_a_processor_unless_the_settings_say_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    for processors, slots in ((3, 12), (None, 4)):
        monkeypatch.setattr(os, "cpu_count", lambda n=processors: n)
        assert slots_of(Settings(sandbox_workers=0)) == slots
    assert slots_of(Settings(sandbox_workers=5)) == 5


@linux
def test_a_run_that_waits_is_told_that_the_server_is_stopping(given: Settings) -> None:
    async def runs() -> None:
        runner = await pooled(given.model_copy(update={"sandbox_workers": 1}), GUEST)
        here = [asyncio.create_task(runner.run("sleepy", "f", [()], name)) for name in ("a", "b")]
        await until(lambda: (runner.pool.busy, runner.pool.waiting) == (1, 1))
        await runner.close()
        said = await asyncio.gather(*here, return_exceptions=True)
        assert [str(one) for one in said] == ["The server is stopping."] * 2

    in_time(runs())


@linux
def test_an_idle_worker_that_ends_is_replaced_before_a_run_needs_it(given: Settings) -> None:
    async def runs() -> None:
        runner = await pooled(given, GUEST)
        dead, kept = runner.pool.workers
        dead.process.kill()
        await until(lambda: dead not in runner.pool.workers and len(runner.pool.workers) == 2)
        assert kept in runner.pool.workers
        await runner.close()

    in_time(runs())


@linux
def test_files_are_closed_by_landlock_where_the_kernel_has_it() -> None:
    here = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    assert locked_version() == max(0, here)


def locked_version() -> int:
    """What a process of its own says of its lock."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(lock_down(write)).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        version = int(said.read())
    os.waitpid(child, 0)
    return version
