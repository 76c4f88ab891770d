"""A server in another process, and a load on it that costs the client little."""

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Literal

import uvloop

from app.core.folders import ROOT

_LIMITS = ("answers_allowed", "processor_allowed")
_PATIENCE = 15  # seconds in which a server ends by itself
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

_BARE = """
import socket, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Submission(BaseModel):
    exercise: str
    seed: int = 0
    answer: str | list[str] | dict[str, str]

@app.post("/api/v1/check")
async def check(submission: Submission):
    return {"exercise": submission.exercise, "seed": submission.seed, "verdict": "incorrect"}

listening = socket.create_server(("127.0.0.1", 0), backlog=256)
print("http://127.0.0.1:%d" % listening.getsockname()[1], file=__import__("sys").stderr, flush=True)
uvicorn.Server(uvicorn.Config(app, ws="none", access_log=False, log_level="error")).run(sockets=[listening])
"""
_DIE_WITH_PARENT = 1  # of prctl
_QUIET, _LONGEST = 0.05, 90.0  # seconds of work in a second that count as none, and to wait for that


def bound_to_us() -> None:
    """In a child, before its program starts: it ends when this process does, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Load:
    """What a load measured: requests a second, how long each took, and what it cost the client."""

    rate: float
    seconds: Sequence[float]
    busy: float  # the share of the time in which the client worked; near 1 it is what was measured

    def quantile(self, share: float) -> float:
        """The time within which *share* of the requests were answered."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs."""

    port: int
    process: "subprocess.Popen[str]"
    token: str

    def busy(self) -> float:
        """The seconds that its process has worked so far, on all of its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_memory(self) -> float:
        """The most memory that its process has had, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1000 if found else 0.0


@contextmanager
def server(
    folder: Path,
    how: str = "ours",
    root: Path = ROOT,
    *,
    ready: Literal["at once", "pages", "programs"] = "programs",
    **settings: str,
) -> Iterator[Running]:
    """A server of the version in *root*, or a bare endpoint, once it is *ready* and has nothing left to do.

    Only the command line is used, which earlier versions have as well. When it is left, the server ends
    with all that it has started.
    """
    database = {"WALLCLOCK_DATABASE": f"sqlite:///{folder / how}.db"}
    environment = {**os.environ, **database, **_known_in(root), **settings}
    make_token = [sys.executable, "-m", "app", "token", "create", "bench"]
    made = subprocess.run(make_token, env=environment, cwd=root, capture_output=True, text=True, check=False)
    command = [sys.executable, "-c", _BARE] if how == "bare" else [sys.executable, "-m", "app", "serve", "--port", "0"]
    said = folder / f"{how}.log"  # not a pipe: what it starts may hold that open for longer
    with (
        said.open("w") as log,
        subprocess.Popen(
            command, env=environment, cwd=root, stderr=log, text=True, start_new_session=True, preexec_fn=bound_to_us
        ) as process,
    ):
        try:
            running = Running(_port(process, said), process, made.stdout.strip())
            if ready != "at once" and how != "bare":
                asyncio.run(_until_ready(running, b'"ready"' if ready == "programs" else b"{"))
                _until_quiet(running)
            yield running
        finally:
            process.terminate()
            try:
                process.wait(0.5 if ready == "at once" else _PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _port(process: "subprocess.Popen[str]", said: Path) -> int:
    while True:
        has_ended = process.poll() is not None
        if found := re.search(r"http://[^\s:]+:(\d+)\b", said.read_text()):
            return int(found[1])
        if has_ended:
            raise RuntimeError(f"the server did not start: {said.read_text()[-500:]}")
        time.sleep(0.02)


def _known_in(root: Path) -> dict[str, str]:
    """The settings without which a load is refused, as far as the version in *root* has them."""
    texts = "".join(path.read_text(encoding="utf-8") for path in (root / "app").rglob("config/*.py"))
    texts += "".join(path.read_text(encoding="utf-8") for path in (root / "app").rglob("config.py"))
    return {f"WALLCLOCK_{name.upper()}": "0" for name in _LIMITS if name in texts}


def _until_quiet(running: Running) -> None:
    """Wait until nothing is built beside the first requests, such as the index of the search."""
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end:
        begun = running.busy()
        time.sleep(1)
        if running.busy() - begun <= _QUIET:
            return


async def _until_ready(running: Running, health: bytes) -> None:
    for _ in range(1200):
        try:
            if health in await ask(running.port, request(running, "GET", "/healthz", b"")):
                return
        except OSError:
            pass
        await asyncio.sleep(0.05)
    raise RuntimeError("the sandbox never became ready")


async def ask(port: int, asked: bytes) -> bytes:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(asked)
    head = await reader.readuntil(b"\r\n\r\n")
    found = _LENGTH.search(head)
    body = await reader.readexactly(int(found[1]) if found else 0)
    writer.close()
    await writer.wait_closed()
    return body


def request(running: Running, method: str, path: str, body: bytes) -> bytes:
    """A request of a program."""
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def form(path: str, cookie: str, body: bytes) -> bytes:
    """A form that the script of a page sends."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\nX-Fragment: 1\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class _Sender(asyncio.Protocol):
    """A connection that sends the next request when the last one was answered.

    (Streams would take longer to read a reply than the server to write it.)
    """

    def __init__(self, requests: Sequence[bytes], expected: bytes, times: list[float]) -> None:
        self._requests = cycle(requests)
        self._expected = expected
        self._times = times
        self._reply = b""
        self.wrong: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._reply += data
        end = self._reply.find(b"\r\n\r\n") + 4
        if end < 4 or len(self._reply) < end + self._length(end):
            return
        self._times.append(time.perf_counter() - self._began)
        if self._expected not in self._reply:
            self.wrong = self._reply
            self.transport.close()
            return
        self._send()

    def _length(self, end: int) -> int:
        found = _LENGTH.search(self._reply, 0, end)
        return int(found[1]) if found else 0

    def _send(self) -> None:
        self._reply = b""
        self._began = time.perf_counter()
        self.transport.write(next(self._requests))


def _itself(sender: _Sender) -> _Sender:
    return sender


def load(
    running: Running,
    bodies: Sequence[bytes],
    expected: bytes,
    connections: int,
    seconds: float,
    path: str = "/api/v1/check",
) -> Load:
    """Send *bodies* in turn over *connections* for *seconds*; every reply must have *expected*.

    No bodies: GET *path*.
    """
    requests = [request(running, "POST", path, body) for body in bodies]
    requests = requests or [request(running, "GET", path, b"")]
    return send(running, requests, expected, connections, seconds)


def send(running: Running, requests: Sequence[bytes], expected: bytes, connections: int, seconds: float) -> Load:
    """Send *requests* in turn over *connections* for *seconds*; every reply must have *expected*."""
    times: list[float] = []

    async def all_of_them() -> tuple[float, float]:
        loop, senders = asyncio.get_running_loop(), []
        started, worked = time.perf_counter(), time.process_time()
        for number in range(connections):
            turn = number % len(requests)
            sender = _Sender([*requests[turn:], *requests[:turn]], expected, times)
            await loop.create_connection(partial(_itself, sender), "127.0.0.1", running.port)
            senders.append(sender)
        await asyncio.sleep(seconds)
        took = time.perf_counter() - started
        busy = (time.process_time() - worked) / took
        for sender in senders:
            assert sender.wrong is None, sender.wrong
            sender.transport.abort()
        return len(times) / took, busy

    with _apart(running), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rate, busy = runner.run(all_of_them())
    return Load(rate, times, busy)


@contextmanager
def _apart(running: Running) -> Iterator[None]:
    """The server on one core and this process on the others, where there are several."""
    cores = os.sched_getaffinity(0)
    first, *others = sorted(cores)
    if others:
        for thread in os.listdir(f"/proc/{running.process.pid}/task"):
            os.sched_setaffinity(int(thread), {first})
        os.sched_setaffinity(0, others)
    yield
    os.sched_setaffinity(0, cores)
