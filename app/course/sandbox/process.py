"""A worker process as the server sees it: what it is sent, its hostile replies, and its self-test."""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from app.core.errors import AnswerError, UnavailableError
from app.course.sandbox.guest.codec import decode, encode

SOURCE_LIMIT = 64_000  # bytes
# Exact built-in types only, nested at most 20 deep; floats may be infinite or nan.
Plain = (
    None
    | bool
    | int
    | float
    | complex
    | str
    | list["Plain"]
    | tuple["Plain", ...]
    | set["Plain"]
    | dict["Plain", "Plain"]
)
Reason = Literal["time", "memory", "stack", "too large", "refused", "lost", "busy"]


@dataclass(frozen=True, slots=True)
class CallReturned:
    """A call returned *value*."""

    value: "Plain"
    printed: str = ""


@dataclass(frozen=True, slots=True)
class CallRaised:
    """A call raised an exception; *line* is in the learner's source."""

    type: str
    message: str
    line: int | None
    printed: str = ""


@dataclass(frozen=True, slots=True)
class StoppedRun:
    """A limit of the sandbox stopped the run."""

    reason: Reason
    printed: str = ""


Outcome = CallReturned | CallRaised | StoppedRun


@dataclass(frozen=True, slots=True)
class Execution:
    """A program's run: what its body did, and what each call did, in order, until one stopped."""

    body: CallRaised | StoppedRun | None
    printed: str
    outcomes: tuple[Outcome, ...]
    seconds: float


def request_of(source: str, entry: str, calls: Sequence[Sequence[Plain]]) -> dict[str, object]:
    """The request to a worker: run *source*, then call its function *entry* for each of *calls*.

    Raises:
        AnswerError: *source* is too long, or not valid Unicode.
    """
    try:
        size = len(source.encode())
    except UnicodeEncodeError:
        raise AnswerError("the program contains characters that are not valid Unicode") from None
    if size > SOURCE_LIMIT:
        raise AnswerError(f"the program is too long: {size:,} bytes of at most {SOURCE_LIMIT:,}")
    arguments = [[encode(value) for value in call] for call in calls]
    return {"source": source, "entry": entry, "calls": arguments}


_REPLY = 200_000  # characters; the guest's own limits are far lower
_PRINTED = 17_000
_NAME, _MESSAGE = 80, 300
_LINES = 64_000  # of a program
# The only error the guest itself raises, and its message; a learner may define a class so named.
_OWN, _OWN_WORDS = "Missing", re.compile(r"no function called \w+ is defined")
_REASONS: tuple[Reason, ...] = ("time", "memory", "stack", "too large", "refused")  # that a worker may give


def execution_of(answer: dict[str, object], calls: int) -> Execution:
    """What a run with *calls* calls did, according to the worker's *answer*."""
    replies, stopped, seconds = answer.get("replies"), answer.get("stopped"), answer.get("seconds")
    texts = replies if isinstance(replies, list) else []
    outcomes = [_outcome(text, body=index == 0) for index, text in enumerate(texts[: calls + 1])]
    while any(isinstance(outcome, StoppedRun) for outcome in outcomes[:-1]):
        outcomes.pop()
    complete = bool(outcomes) and isinstance(outcomes[-1], StoppedRun)
    if isinstance(stopped, str) and not complete:
        outcomes.append(StoppedRun(next((known for known in _REASONS if known == stopped), "refused")))
    elif not outcomes or (not complete and len(outcomes) <= calls and isinstance(outcomes[0], CallReturned)):
        outcomes.append(StoppedRun("refused"))  # forged replies
    body, *rest = outcomes
    took = float(seconds) if isinstance(seconds, int | float) else 0.0
    if isinstance(body, CallReturned):
        return Execution(None, body.printed, tuple(rest), took)
    return Execution(body, body.printed, (), took)


def _outcome(text: object, *, body: bool) -> Outcome:
    """Parse one reply, which learner code may have forged."""
    try:
        if not isinstance(text, str) or len(text) > _REPLY:
            return StoppedRun("too large")
        inner, printed = json.loads(text)
        reply = json.loads(inner)
        printed = _clean(printed, _PRINTED)
        if "stopped" in reply:
            # The guest gives no other reason itself, and a claim of learner code is not trusted.
            return StoppedRun("too large" if reply["stopped"] == "too large" else "refused", printed)
        if "raised" in reply:
            return _raised(reply["raised"], printed)
        value = None if body else decode(reply["value"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return StoppedRun("refused")
    return CallReturned(value, printed)  # type: ignore[arg-type]


def _raised(raised: object, printed: str) -> CallRaised:
    if not isinstance(raised, list):
        raise TypeError("not an error's type, message and line")
    kind, message, line = raised
    number = line if type(line) is int and 0 < line <= _LINES else None
    name, words = _clean(kind, _NAME), _clean(message, _MESSAGE)
    if name == _OWN and not _OWN_WORDS.fullmatch(words):
        name = f"solution.{_OWN}"
    return CallRaised(name, words, number, printed)


def _clean(text: object, longest: int) -> str:
    if not isinstance(text, str):
        raise TypeError("not a string")
    return text[:longest].encode("utf-8", "replace").decode("utf-8").replace("\0", "�")


MEGABYTES = 96  # of a submission
_WORKER = Path(__file__).resolve().parent / "worker.py"
_LARGEST = 4 << 20  # bytes of a frame: twice what a worker passes on of its replies, escaped
_LARGE = 32 << 10  # bytes of a frame, from which on it is parsed in another thread
_START = 60.0  # seconds, on a machine with much else to do
_GRACE = 10.0  # seconds until the pipes of a dead worker are at their end
_QUIET = 1.0  # seconds between two looks at a worker that does not answer
_WORK = 3.0  # seconds of processor time after its limit, in which its clock must have stopped it
_STARVED = 60.0  # seconds without any processor time, after which a run is given up
_LOOKS, _LOOK = 10, 0.02  # times, and seconds between them, until a worker counts as idle
_TICKS = os.sysconf("SC_CLK_TCK")  # per second


# A heap that returns unused memory to the system, whatever the last program did to it.
_HEAP = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576"}


class WorkerLostError(Exception):
    """The worker froze, or its reply is not valid."""


class DiedError(WorkerLostError):
    """The worker died; the request may be sent to another one."""


class StarvedError(WorkerLostError):
    """The worker was given no processor time: the machine has too much else to do."""


@dataclass(frozen=True, slots=True)
class WorkerProcess:
    """One started worker; *locked* where the system lets it lock itself down."""

    process: asyncio.subprocess.Process
    locked: bool

    @classmethod
    async def start(cls, component: Path, paths: Sequence[str], *, lock: bool) -> Self:
        """Start a worker and wait for its greeting.

        Raises:
            UnavailableError: it could not start, or could not lock itself down.
        """
        spawning = asyncio.ensure_future(cls._spawn(component, paths, lock=lock))
        try:
            worker = cls(await asyncio.shield(spawning), lock)
        except OSError as error:
            says = f"a sandbox worker cannot start: {error.strerror}"
            raise UnavailableError(says) from error
        except asyncio.CancelledError:
            await cls(await spawning, lock).kill()  # a half-started process could not be killed
            raise
        try:
            await worker._greet()
        except (UnavailableError, asyncio.CancelledError):
            await worker.kill()
            raise
        return worker

    async def ask(self, request: Mapping[str, object], wall: float) -> dict[str, object]:
        """The worker's answer to *request*, which it stops after *wall* seconds of processor time.

        Raises:
            LostError: there was no answer.
        """
        frame = json.dumps({**request, "wall": wall}).encode()
        try:
            self._write(len(frame).to_bytes(4, "big") + frame)
        # uvloop raises a RuntimeError if the worker died and its pipe is closed.
        except (OSError, RuntimeError) as error:
            raise DiedError from error
        receiving = asyncio.ensure_future(self._frame())
        first = used = self._used()
        since = time.monotonic()  # when it was last given any processor time
        try:
            while not await _is_done(receiving, _QUIET):
                if (now := self._used()) > used:
                    used, since = now, time.monotonic()
                if used - first >= wall + _WORK or await self._is_idle(receiving):
                    raise WorkerLostError
                if time.monotonic() - since >= _STARVED:
                    raise StarvedError
            return await _parsed(await receiving)
        finally:
            receiving.cancel()

    async def kill(self) -> None:
        """Kill the process and release its pipes."""
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        # asyncio releases the process only once both pipes are at their end.
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(RuntimeError, TimeoutError):  # another reader will reach the end
                    await asyncio.wait_for(stream.read(), _GRACE)

    async def _greet(self) -> None:
        try:
            hello = await _parsed(await asyncio.wait_for(self._frame(), _START))
        except (WorkerLostError, TimeoutError) as error:
            said = await self._last_words()
            raise UnavailableError(f"a sandbox worker cannot start: {said}") from error
        if bool(hello.get("locked")) != self.locked:
            raise UnavailableError("a sandbox worker did not lock itself down")

    async def _frame(self) -> bytes:
        try:
            size = int.from_bytes(await self._bytes(4), "big")
            if size > _LARGEST:
                raise WorkerLostError
            return await self._bytes(size)
        except (EOFError, ConnectionError) as error:
            raise DiedError from error

    async def _is_idle(self, receiving: asyncio.Future[bytes]) -> bool:
        """Whether it neither answers, nor works, nor waits for a busy processor."""
        used = self._used()
        for _ in range(_LOOKS):  # a thread that works may sleep for a moment
            threads = self._stats("task/*/stat")
            if not threads or any(fields[0] in "RD" for fields in threads):
                return False
            if await _is_done(receiving, _LOOK):
                return False
        return self._used() == used

    def _used(self) -> float:
        """Seconds of processor time that it has used."""
        return sum(int(one[11]) + int(one[12]) for one in self._stats("stat")) / _TICKS

    def _stats(self, pattern: str) -> list[list[str]]:
        """The fields from the state on, as in proc(5); none where the system has no such files."""
        found = []
        for path in Path(f"/proc/{self.process.pid}").glob(pattern):
            with suppress(OSError):  # it has just ended
                found.append(path.read_text().rpartition(")")[2].split())
        return found

    async def _last_words(self) -> str:
        with suppress(ProcessLookupError):
            self.process.kill()
        said = await self.process.stderr.read() if self.process.stderr else b""
        lines = said.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it gave no reason"

    @classmethod
    async def _spawn(cls, component: Path, paths: Sequence[str], *, lock: bool) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-B", str(_WORKER),
            str(component), str(MEGABYTES), "lock" if lock else "open", *paths,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.defpath, **_HEAP},
            limit=_LARGEST,
        )  # fmt: skip

    def _write(self, frame: bytes) -> None:
        if self.process.stdin is not None:
            self.process.stdin.write(frame)

    async def _bytes(self, size: int) -> bytes:
        return await self.process.stdout.readexactly(size) if self.process.stdout else b""


async def _parsed(frame: bytes) -> dict[str, object]:
    try:
        # Parsing the largest frames here would block every other request.
        parsing = asyncio.to_thread(json.loads, frame) if len(frame) > _LARGE else None
        answer = await parsing if parsing else json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise WorkerLostError from error
    if not isinstance(answer, dict):
        raise WorkerLostError
    return answer


async def _is_done(answer: asyncio.Future[bytes], timeout: float) -> bool:
    return bool((await asyncio.wait([answer], timeout=timeout))[0])


Ask = Callable[[dict[str, object], float], Awaitable[dict[str, object]]]
_WALL, _SHORT_WALL = 3.0, 0.1  # seconds: for programs that finish, and for one that must be stopped
_HONEST = "def f():\n    print('ready')\n    return (1, 2.5, 'three')\n"
_REFUSED = {
    "open a file": "def f():\n    return open('/etc/passwd').read()\n",
    "import socket": "def f():\n    import socket\n    return str(socket.socket())\n",
    "start a process": "def f():\n    import os\n    return os.fork()\n",
    "take 10 GB": "def f():\n    return len(bytearray(10 * 2**30))\n",
}
_ENDLESS = "def f():\n    while True:\n        pass\n"


async def verify_isolation(ask: Ask) -> None:
    """Have a worker run an honest program, and some that must be refused.

    Raises:
        UnavailableError: a program could do what it must not.
    """

    async def run(source: str, wall: float = _WALL) -> Execution:
        return execution_of(await ask(request_of(source, "f", [()]), wall), 1)

    execution = await run(_HONEST)
    if execution.outcomes != (CallReturned((1, 2.5, "three"), "ready\n"),):
        raise UnavailableError("the sandbox fails its self-test: an honest program does not run")
    for what, source in _REFUSED.items():
        execution = await run(source)
        if not all(isinstance(outcome, CallRaised | StoppedRun) for outcome in execution.outcomes):
            raise UnavailableError(f"the sandbox fails its self-test: a program could {what}")
    execution = await run(_ENDLESS, _SHORT_WALL)
    if execution.outcomes != (StoppedRun("time"),):
        raise UnavailableError("the sandbox fails its self-test: an endless loop was not stopped")


def verify_lockdown(worker: WorkerProcess) -> None:
    """On Linux, ask the kernel whether *worker* is locked down.

    Raises:
        UnavailableError: it is not.
    """
    if not sys.platform.startswith("linux"):
        return
    text = Path(f"/proc/{worker.process.pid}/status").read_text(encoding="ascii", errors="replace")
    status = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    if status.get("Seccomp", "").strip() != "2" or status.get("NoNewPrivs", "").strip() != "1":
        raise UnavailableError("a worker of the sandbox is not locked down; the kernel needs seccomp")
    if "0" in status.get("Uid", "0").split():
        raise UnavailableError("a worker of the sandbox still runs as root")
