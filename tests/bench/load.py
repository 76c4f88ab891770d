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
from pathlib import Path

_STARTER = """
import sys, uvicorn
from app.main import create_app, create_site
from app.config import Settings
from dataclasses import replace

class Forgetful:
    def start(self): pass
    async def put(self, row): pass
    async def close(self): pass

site = create_site(Settings())
if sys.argv[1] == "forgets":
    site = replace(site, writer=Forgetful())
config = uvicorn.Config(create_app(site=site), port=0, access_log=False, log_level="warning")
server = uvicorn.Server(config)
import socket
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
server.run(sockets=[listening])
"""


@dataclass(frozen=True, slots=True)
class Load:
    """What a load measured: requests a second, and how long each took."""

    rate: float
    seconds: Sequence[float]

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

    def peak_memory(self) -> float:
        """The most memory that its process has had, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) / 1000 if found else 0.0


@contextmanager
def server(folder: Path, how: str = "keeps") -> Iterator[Running]:
    """A server that keeps attempts, or one that only says so."""
    environment = {**os.environ, "WALLCLOCK_DATABASE": f"sqlite:///{folder / how}.db"}
    make_token = [sys.executable, "-m", "app", "token", "create", "bench"]
    made = subprocess.run(make_token, env=environment, capture_output=True, text=True, check=True)
    command = [sys.executable, "-c", _STARTER, how]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
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
            if b'"ready"' in await ask(running.port, _request(running, "GET", "/healthz", b"")):
                return
        except OSError:
            pass
        await asyncio.sleep(0.05)
    raise RuntimeError("the sandbox never became ready")


async def ask(port: int, request: bytes) -> bytes:
    """One request on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = await _exchange(reader, writer, request)
    writer.close()
    await writer.wait_closed()
    return body


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> bytes:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    found = re.search(rb"content-length: (\d+)", head.lower())
    return await reader.readexactly(int(found[1]) if found else 0)


def _request(running: Running, method: str, path: str, body: bytes) -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {running.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def load(
    running: Running, bodies: Sequence[bytes], expected: bytes, connections: int, seconds: float
) -> Load:
    """Send *bodies* in turn over *connections* for *seconds*; every reply must have *expected*."""
    requests = [_request(running, "POST", "/api/v1/check", body) for body in bodies]
    times: list[float] = []

    async def one(number: int, until: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        while (started := time.perf_counter()) < until:
            reply = await _exchange(reader, writer, requests[(number + len(times)) % len(requests)])
            assert expected in reply, reply
            times.append(time.perf_counter() - started)
        writer.close()

    async def all_of_them() -> float:
        started = time.perf_counter()
        until = started + seconds
        await asyncio.gather(*(one(n, until) for n in range(connections)))
        return time.perf_counter() - started

    took = asyncio.run(all_of_them())
    return Load(len(times) / took, times)
