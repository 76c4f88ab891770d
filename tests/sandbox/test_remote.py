"""The sandbox apart: web servers ask sandbox servers, which may vanish at any moment."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from pydantic import ValidationError

from app.__main__ import main
from app.commands.doctor import checked_sandbox
from app.core.errors import UnavailableError
from app.course.sandbox import remote
from app.course.sandbox.process import CallRaised, CallReturned, StoppedRun
from app.course.sandbox.remote import RemotePool, SandboxServer, _choice, create_service
from app.course.sandbox.runner import Runner
from app.server.aside.fair_queue import Client, grader
from app.server.config import Settings
from app.server.network.sockets import listen, listen_at, url_of
from tests.each import each
from tests.waiting import HANGS, until

SECRET = "not-for-anyone-else"
ADD = "def add(a, b):\n    return a + b\n"
LONG = "def long():\n    for _ in range(10**7): pass\n    return 1\n"
PATIENT = 9.0  # seconds of processor time in which that ends on a slow machine, too
ENDLESS = "def endless():\n    while True: pass\n"


def settings(*addresses: str, token: str = SECRET, wall: float = 1.0) -> Settings:
    return Settings(sandbox_workers=1, sandbox_token=token, sandbox_at=addresses, sandbox_wall=wall)


@asynccontextmanager
async def serving(listening: socket.socket, given: Settings | None = None) -> AsyncIterator[str]:
    app = create_service(given or settings(), {})
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, log_config=None, timeout_graceful_shutdown=1))
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield url_of(listening)
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def asking(given: Settings) -> AsyncIterator[Runner]:
    runner = Runner(given)
    await runner.start()
    await runner.ready()
    try:
        yield runner
    finally:
        await runner.close()


@contextmanager
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A `wallclock sandbox` in a process of its own."""
    monkeypatch.setenv("WALLCLOCK_SANDBOX_TOKEN", SECRET)
    monkeypatch.setenv("WALLCLOCK_SANDBOX_WORKERS", "1")
    command = [sys.executable, "-m", "app", "sandbox", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found
            yield found[0], process
        finally:
            process.kill()


@pytest.mark.slow(20)
def test_programs_run_on_a_sandbox_server(tmp_path: Path) -> None:
    async def check() -> None:
        with closing(listen_at(tmp_path / "s.sock")) as listening:
            async with serving(listening) as address, asking(settings(address)) as runner:
                assert runner.health.state == "ready"
                ran = await runner.run(ADD, "add", [[1, 2], [0.1, float("inf")], ["a", 1]])
                first, second, third = ran.outcomes
                assert (first, second) == (CallReturned(3), CallReturned(float("inf")))
                assert isinstance(third, CallRaised)
                late = await runner.run(ENDLESS, "endless", [[]])
                assert late.outcomes == (StoppedRun("time"),)

    asyncio.run(check())


def test_the_doctor_names_the_server_that_is_missing() -> None:
    with closing(listen("127.0.0.1", 0)) as gone:
        address = url_of(gone)
    found = checked_sandbox(settings(address))
    assert (found.state, found.says.startswith(address)) == ("missing", True)


def test_a_wrong_token_or_another_limit_is_the_cause_that_the_log_names() -> None:
    async def check() -> None:
        with closing(listen("127.0.0.1", 0)) as listening:
            async with serving(listening) as address:
                async with asking(settings(address, token="quite-another-secret")) as runner:
                    assert runner.health.state == "off"
                    assert "WALLCLOCK_SANDBOX_TOKEN" in runner.health.cause
                    with pytest.raises(UnavailableError, match="cannot run programs right now"):
                        await runner.run(ADD, "add", [[1, 2]])
                async with asking(settings(address, wall=3.0)) as runner:
                    assert "WALLCLOCK_SANDBOX_WALL is 1, and 3 here" in runner.health.cause
                await refused(address)

    asyncio.run(check())


async def refused(address: str) -> None:
    """What a sandbox server does not answer, without the token or with an unknown order."""
    async with httpx2.AsyncClient(base_url=address, trust_env=False) as http:
        assert (await http.get("/livez")).status_code == 200
        assert (await http.get("/metrics")).status_code == 403
        assert (await http.get(remote.STATE)).status_code == 401
        good = remote.write_order(Client("me"), {"source": ADD, "entry": "add", "calls": []}, 1, long=False)
        assert b'"me"' not in good
        assert (await http.post(remote.RUN, content=good)).status_code == 401
        http.headers["Authorization"] = f"Bearer {SECRET}"
        assert (await http.post(remote.RUN, content=b"{}")).status_code == 422
        assert (await http.post(remote.RUN, content=b"[" * 100_000)).status_code == 422
        long = good.replace(b'"wall": 1', b'"wall": 9')
        assert (await http.post(remote.RUN, content=long)).status_code == 422
        for more, status in ((0, 422), (1, 413)):
            large = b" " * (remote.ORDER_LIMIT + more)
            assert (await http.post(remote.RUN, content=large)).status_code == status


@pytest.mark.slow(20)
def test_a_sandbox_server_that_is_killed_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(address: str, process: "subprocess.Popen[str]") -> None:
        with closing(listen("127.0.0.1", 0)) as listening:
            async with asking(settings(address, url_of(listening), wall=PATIENT)) as runner:
                pool = runner.pool
                assert isinstance(pool, RemotePool)
                (server,) = (one for one in pool._servers if one.address == address)
                await until(lambda: {server.health.state, pool.health.state} == {"ready"})
                here = [asyncio.create_task(runner.run(LONG, "long", [[]])) for _ in range(3)]
                while not await busy(server):
                    await asyncio.sleep(0.01)
                process.send_signal(signal.SIGKILL)
                # As late as its successor would be.
                async with serving(listening, settings(wall=PATIENT)):
                    for ran in await asyncio.gather(*here):
                        assert ran.outcomes == (CallReturned(1),)
                assert "cannot be reached" in pool.servers[address].cause

    monkeypatch.setenv("WALLCLOCK_SANDBOX_WALL", str(PATIENT))
    monkeypatch.setattr("app.course.sandbox.remote._ABSENCE", HANGS)
    with apart(monkeypatch) as (address, process):
        asyncio.run(check(address, process))


async def busy(server: SandboxServer) -> int:
    """How many programs run there."""
    return remote.SandboxState.model_validate_json(await server._sent("GET", remote.STATE, b"")).busy


@each("reply", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n   {", b"junk"])
def test_a_reply_that_breaks_off_is_not_an_answer(reply: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        writer.close()

    async def check() -> None:
        async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
            address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
            one = SandboxServer(address, settings(address))
            await one.look()
            assert (one.health.state, one.health.cause[: len(address)]) == ("off", address)
            async with one.open():
                with pytest.raises(Exception, match="reached|complete"):
                    await one.ask(b"{}")
            assert one.in_flight == 0

    asyncio.run(check())


def test_without_a_server_that_answers_programs_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only after the time for which runs wait until one is back."""
    monkeypatch.setattr("app.course.sandbox.remote._ABSENCE", 60 * HANGS)

    async def check() -> None:
        with closing(listen("127.0.0.1", 0)) as gone:
            address = url_of(gone)
        async with asking(settings(address)) as runner:
            assert (runner.health.state, address in runner.health.cause) == ("off", True)
            with pytest.raises(UnavailableError):
                await runner.run(ADD, "add", [[1, 2]])

    asyncio.run(asyncio.wait_for(check(), HANGS))


def test_a_learner_stays_on_one_server_and_a_grader_takes_the_free_one() -> None:
    servers = [SandboxServer(f"http://10.0.0.{n}", settings("http://x")) for n in range(3)]
    chosen = {n: _choice(Client(f"learner {n}"), servers) for n in range(300)}
    assert min(list(chosen.values()).count(server) for server in servers) > 60
    for n, before in chosen.items():  # those of a server that goes move; the others stay
        after = _choice(Client(f"learner {n}"), servers[:2])
        assert after is before or before is servers[2]
    servers[0].in_flight = servers[1].in_flight = 1
    assert _choice(grader("batch"), servers) is servers[2]


@each(
    ("given", "says"),
    [
        ({"sandbox_at": "http://a:8100"}, "needs WALLCLOCK_SANDBOX_TOKEN"),
        ({"sandbox_at": "10.0.0.7:8100", "sandbox_token": SECRET}, "such as http://10.0.0.7"),
        ({"sandbox_at": "http://a/?x=1", "sandbox_token": SECRET}, "ends before"),
        ({"sandbox_token": "short"}, "at least 16 characters, not 5"),
        ({"sandbox_token": "with a space in between"}, "without spaces"),
    ],
)
def test_half_a_configuration_is_refused(given: dict[str, str], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Settings(**given)  # type: ignore[arg-type]


def test_addresses_are_separated_by_commas() -> None:
    given = Settings(sandbox_token=SECRET, sandbox_at="http://a:1/, unix:/run/s.sock")
    assert given.sandbox_at == ("http://a:1", "unix:/run/s.sock")
    assert SECRET not in repr(given)


def test_a_sandbox_server_without_a_token_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sandbox", "--port", "0"]) == 1
    assert "needs WALLCLOCK_SANDBOX_TOKEN" in capsys.readouterr().err
