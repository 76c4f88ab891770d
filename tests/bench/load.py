"""A server in another process, and a load on it that costs the client little."""

import asyncio
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import uvloop

from app.core.folders import ROOT

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)

_STARTER = """
import socket, sys, uvicorn
from dataclasses import replace
from fastapi import FastAPI
from app.server.network.sockets import CONNECTION
from app.server.config import Settings
from app import main
from app.main import create_app, create_site
from app.site.grading.offline import Submission

class Forgetful:
    def start(self): pass
    async def put(self, row): pass
    async def close(self): pass

def bare():
    app = FastAPI()

    @app.get("/healthz")
    async def ready(): return {"sandbox": "ready"}

    @app.post("/api/v1/check")
    async def check(submission: Submission):
        return {"exercise": submission.exercise, "seed": submission.seed, "verdict": "incorrect"}

    return app

def unwatched():
    from prometheus_client import metrics
    metrics.Counter.inc = metrics.Histogram.observe = lambda *given: None

def whole():
    if sys.argv[1] == "unwatched": unwatched()
    watched = {"metrics": "127.0.0.1"} if sys.argv[1] == "watched" else {}
    site = create_site(Settings(**watched))
    return create_app(site=replace(site, writer=Forgetful()) if sys.argv[1] == "forgets" else site)

app, http = (bare(), "auto") if sys.argv[1] == "bare" else (whole(), CONNECTION)
getattr(main, "calm_collector", lambda: None)()  # earlier versions, to compare with, have none
config = uvicorn.Config(app, http=http, ws="none", access_log=False, log_level="warning")
listening = socket.create_server(("127.0.0.1", 0), backlog=256)
print(listening.getsockname()[1], flush=True)
uvicorn.Server(config).run(sockets=[listening])
"""


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
def server(folder: Path, how: str = "keeps", root: Path = ROOT, **settings: str) -> Iterator[Running]:
    """A server that keeps attempts, or one that only says so; of the version in *root*."""
    here = {"WALLCLOCK_PROCESSOR_ALLOWED": "0"} if root == ROOT else {}  # earlier ones know none
    database = {"WALLCLOCK_DATABASE": f"sqlite:///{folder / how}.db"}
    environment = {**os.environ, **here, **database, **settings}
    make_token = [sys.executable, "-m", "app", "token", "create", "bench"]
    made = subprocess.run(make_token, env=environment, cwd=root, capture_output=True, text=True, check=True)
    command = [sys.executable, "-c", _STARTER, how]
    with subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        running = Running(port, process, made.stdout.strip())
        try:
            asyncio.run(_until_ready(running))
            yield running
        finally:
            process.terminate()


async def _until_ready(running: Running) -> None:
    for _ in range(1200):
        try:
            if b'"ready"' in await ask(running.port, request(running, "GET", "/healthz", b"")):
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
