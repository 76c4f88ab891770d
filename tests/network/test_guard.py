"""The guard of connections, with a clock and a wire of the test: each limit from both sides."""

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from app.server.config import Settings
from app.server.network.guard import GUARD, LOOK, PEER, Connection, Guard, Limits, raise_files
from app.server.network.head import HEADERS
from tests.each import each

LIMITS = Limits(patience=10, still=60, pace=1000, each=2, all=4)
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nContent-Length: 9000\r\n\r\n"
STREAM, WAIT = b"GET /stream HTTP/1.1\r\n\r\n", b"GET /wait HTTP/1.1\r\n\r\n"
EARLY, SOME = (b"POST /%s HTTP/1.1\r\nContent-Length: 9\r\n\r\n" % name for name in (b"early", b"stream"))


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes only when the test says so."""

    now = 1000.0
    timers = 0  # that were set

    def time(self) -> float:
        return self.now

    def call_later(self, *given: Any, **named: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        self.timers += 1
        return super().call_later(*given, **named)


class Wire(asyncio.Transport):
    """What a connection writes, and whether it was closed or aborted."""

    def __init__(self, peer: str = "192.0.2.1", connected: socket.socket | None = None) -> None:
        super().__init__({"peername": (peer, 5), "socket": connected})
        self.written, self.end, self.unread = b"", "", 0

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def is_closing(self) -> bool:
        return bool(self.end)

    def close(self) -> None:
        self.end = self.end or "closed"

    def abort(self) -> None:
        self.end = "aborted"

    def get_write_buffer_size(self) -> int:
        return self.unread

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


SEEN: list[Any] = []


async def page(scope: Any, receive: Any, send: Any) -> None:
    """`/wait` and `/stream` never end; `/early` is answered before its body has come."""
    SEEN.append(scope["state"][PEER])
    path = scope["path"]
    if path not in ("/early", "/stream", "/wait"):
        while (await receive()).get("more_body"):
            pass
    if path != "/wait":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"he", "more_body": True})
        if path != "/stream":
            await send({"type": "http.response.body", "body": b"re"})
            return
    await asyncio.Event().wait()


@pytest.fixture
def loop() -> Iterator[Clock]:
    SEEN.clear()
    with closing(Clock()) as made:
        yield made
        for task in asyncio.all_tasks(made):
            task.cancel()
        made.run_until_complete(asyncio.sleep(0))


async def steps(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Visit:
    """A connection over a wire of the test."""

    def __init__(self, loop: Clock, guard: Guard | None = None, wire: Wire | None = None) -> None:
        self.loop, self.wire = loop, wire or Wire()
        config = Config(page, log_config=None, timeout_keep_alive=1000)
        self.connection = Connection(config, ServerState(), {GUARD: guard or Guard(LIMITS)}, loop)
        self.run(lambda: self.connection.connection_made(self.wire))

    def run(self, act: Callable[[], object]) -> None:
        async def acted() -> None:
            act()
            await steps()

        self.loop.run_until_complete(acted())

    def send(self, *pieces: bytes) -> "Visit":
        for piece in pieces:
            self.run(lambda piece=piece: self.connection.data_received(piece))  # type: ignore[misc]
        return self

    def end_after(self, seconds: float) -> str:
        """How the wire is *seconds* later: open, or the last status that was written before it closed."""
        self.loop.now += seconds
        self.connection.look(self.loop.now)
        status = self.wire.written.rpartition(b"HTTP/1.1 ")[2][:3].decode()
        return f"{self.wire.end} {status}".strip() if self.wire.end else "open"


@each(
    ("sent", "seconds", "ends"),
    [
        ([], 10, "closed"),
        ([b"GET / HT"], 10, "closed 408"),
        ([GET], 10, "closed 200"),
        ([GET, b"GET / HT"], 10, "closed 408"),
        ([POST], 10, "closed 408"),
        ([POST, b"a" * 5000], 15, "closed 408"),
        ([POST, b"a" * 1000, b"a" * 4000], 15, "closed 408"),
        ([POST, b"a" * 9000, POST, b"a" * 2000], 12, "closed 408"),
        ([SOME], 60, "closed 200"),
        ([EARLY], 10, "closed 200"),
        ([b"GET /stream HTTP/1.1\r\n\r\nGET / HT"], 10, "closed 200"),
    ],
)
def test_a_client_that_keeps_the_server_waiting_is_closed_only_after_its_time(
    loop: Clock, sent: list[bytes], seconds: float, ends: str
) -> None:
    assert Visit(loop).send(*sent).end_after(seconds) == "open"
    assert Visit(loop).send(*sent).end_after(seconds + 0.1) == ends


@each("sent", [WAIT, STREAM])
def test_a_client_that_waits_for_the_server_is_never_late(loop: Clock, sent: bytes) -> None:
    assert Visit(loop).send(sent).end_after(10_000) == "open"


def test_each_piece_of_a_body_under_way_starts_the_time_of_a_stream_anew(loop: Clock) -> None:
    visit = Visit(loop).send(SOME)
    assert visit.end_after(59) == "open"
    assert visit.send(b"a").end_after(60) == "open"
    assert visit.end_after(1) == "closed 200"


def test_a_response_that_is_not_read_is_aborted_unless_some_of_it_is(loop: Clock) -> None:
    visit = Visit(loop).send(STREAM)
    for visit.wire.unread in (900, 800):
        assert visit.end_after(50) == "open"
    assert visit.end_after(60) == "open"
    assert visit.end_after(0.1) == "aborted 200"
    visit = Visit(loop).send(STREAM)
    visit.wire.unread = 900
    assert visit.end_after(50) == "open"
    visit.wire.unread = 0
    assert [visit.end_after(500), visit.end_after(500)] == ["open", "open"]


def test_time_in_which_the_server_does_not_read_on_is_not_the_clients(loop: Clock) -> None:
    visit = Visit(loop).send(POST)
    visit.connection.flow.pause_reading()
    assert [visit.end_after(LOOK) for _ in range(100)] == ["open"] * 100
    visit.connection.flow.resume_reading()
    assert visit.end_after(10) == "open"
    assert visit.end_after(0.1) == "closed 408"


@each(("size", "status"), [(2 * HEADERS - 1 - 64, b"200"), (2 * HEADERS, b"431"), (4 * HEADERS, b"431")])
@each("pieces", [1, 3])
def test_a_head_is_refused_above_twice_what_the_door_refuses(
    loop: Clock, size: int, status: bytes, pieces: int
) -> None:
    head = b"GET / HTTP/1.1\r\nA: " + b"a" * size + b"\r\n\r\n"
    step = -(-len(head) // pieces)
    visit = Visit(loop).send(*(head[at : at + step] for at in range(0, len(head), step)))
    assert visit.wire.written.startswith(b"HTTP/1.1 " + status)
    assert (visit.wire.end == "closed") == (status == b"431")


def test_many_short_requests_are_no_long_head_and_an_unfinished_one_is(loop: Clock) -> None:
    visit = Visit(loop)
    for _ in range(2 * HEADERS // len(GET) + 2):
        visit.send(GET)
    assert visit.wire.end == ""
    visit.send(b"GET / HTTP/1.1\r\nA: ", b"a" * (2 * HEADERS - 64))
    assert visit.wire.end == ""
    visit.send(b"a" * 100)
    assert visit.wire.written.endswith(b"the headers are too large")
    said = visit.wire.written
    visit.send(GET)
    assert visit.wire.written == said, "what comes after a refusal is not read"


def test_nonsense_is_refused_as_plain_text_that_says_its_length(loop: Clock) -> None:
    wire = Visit(loop).send(b"\x00\xff\r\n\r\n").wire
    head, _, text = wire.written.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    assert lines[0].startswith(b"http/1.1 400 ")
    assert {b"connection: close", b"x-content-type-options: nosniff", b"content-length: %d" % len(text)} <= {*lines}
    assert wire.end == "closed"


def test_the_app_is_told_whose_connection_it_is(loop: Clock) -> None:
    one, other = socket.socketpair()
    mine = socket.socket()
    with closing(one), closing(other), closing(mine):
        wires = [Wire("::ffff:192.0.2.7"), Wire("::ffff:7"), Wire("2001:db8::1"), Wire("", one), Wire("", mine)]
        for wire in wires:
            Visit(loop, wire=wire).send(GET)
    assert SEEN == ["192.0.2.7", "::ffff:7", "2001:db8::1", "127.0.0.1", ""]


def test_a_connection_above_the_limit_is_told_so_and_counts_until_it_is_lost(loop: Clock) -> None:
    guard = Guard(LIMITS)
    visits = [Visit(loop, guard) for _ in range(3)]
    assert [visit.wire.end for visit in visits] == ["", "", "closed"]
    assert visits[2].wire.written.startswith(b"HTTP/1.1 503 ")
    visits[0].connection.connection_lost(None)
    assert Visit(loop, guard).wire.end == "closed"
    for visit in visits[1:]:
        visit.connection.connection_lost(None)
    assert Visit(loop, guard).wire.end == ""


@each(("sent", "lingers"), [(b"", True), (GET, True), (b"GET /", False), (WAIT, False)])
def test_a_server_that_stops_lets_only_an_idle_connection_linger(loop: Clock, sent: bytes, lingers: bool) -> None:
    visit = Visit(loop).send(sent)
    visit.run(visit.connection.shutdown)
    assert (visit.wire.end == "") == (lingers or sent == WAIT)
    loop.now += 0.2
    visit.run(lambda: None)
    assert (visit.wire.end == "") == (lingers or sent == WAIT)
    loop.now += 0.2
    visit.run(lambda: None)
    assert visit.wire.end == ("" if sent == WAIT else "closed")


class Looked:
    """A connection that counts how often it is looked at."""

    def __init__(self, address: str) -> None:
        self.address, self.looks = address, list[float]()

    def look(self, now: float) -> None:
        self.looks.append(now)


def test_limits_are_of_an_address_and_of_all_and_proxies_have_only_that_of_all(loop: Clock) -> None:
    async def admitted(proxies: str) -> list[bool]:
        guard = Guard(Limits(patience=1, each=2, all=6, proxies=proxies))
        made = [Looked(address) for address in ("a", "a", "a", "10.0.0.7", "10.0.0.7", "10.0.0.7", "b")]
        results = [guard.admits(one) for one in made]
        guard.leave(made[0])
        guard.leave(made[1])
        return [*results, guard.admits(Looked("a")), guard.admits(Looked("c"))]

    run: Callable[[Awaitable[list[bool]]], list[bool]] = loop.run_until_complete
    assert run(admitted("")) == [True, True, False, True, True, False, False, True, False]
    assert run(admitted("10.0.0.0/8")) == [True, True, False, True, True, True, False, True, False]
    assert run(admitted("*")) == [True, True, True, True, True, True, False, True, False]


def test_open_connections_are_looked_at_at_intervals_and_again_after_a_pause(loop: Clock) -> None:
    async def visited() -> tuple[list[float], list[float]]:
        guard = Guard(LIMITS)
        first, second = Looked("a"), Looked("b")
        guard.admits(first)
        for _ in range(4):  # a second
            loop.now += LOOK / 2
            await steps()
        guard.leave(first)
        loop.now += LOOK
        await steps()
        before = loop.timers
        loop.now += 10
        await steps()
        assert loop.timers == before, "where nobody is connected, nothing is looked at"
        guard.admits(second)
        loop.now += LOOK
        await steps()
        guard.leave(second)
        return first.looks, second.looks

    start = loop.now
    first, second = loop.run_until_complete(visited())
    assert first == [start + 0.5, start + 1.0]
    assert second == [start + 12.0]


@each(
    ("proxies", "address", "known"),
    [
        ("127.0.0.1, 10.0.0.9/8", "10.200.0.1", True),
        ("127.0.0.1, 10.0.0.9/8", "127.0.0.1", True),
        ("127.0.0.1, 10.0.0.9/8", "127.0.0.2", False),
        ("127.0.0.1,*", "127.0.0.2", False),
        (" * ", "unix", True),
        ("", "127.0.0.1", False),
        ("127.0.0.1", "unix", False),
    ],
)
def test_a_proxy_is_one_of_those_that_are_trusted(proxies: str, address: str, known: bool) -> None:
    assert Guard(Limits(patience=1, each=1, all=1, proxies=proxies)).is_proxy(address) is known


@each(
    ("files", "asked", "all_of_them", "one_address"),
    [
        (1024, 2048, 768, 385),
        (1024, 100, 768, 100),
        (400, 2048, 200, 101),
        (resource.RLIM_INFINITY, 2048, 65_280, 2048),
        (65_536, 60_000, 65_280, 32_641),
    ],
)
def test_limits_leave_files_for_others_and_connections_for_other_addresses(
    monkeypatch: pytest.MonkeyPatch, files: int, asked: int, all_of_them: int, one_address: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    limits = Limits.of(Settings(connections_allowed=asked, patience=7, proxies="10.0.0.7"))
    assert (limits.all, limits.each, limits.patience, limits.proxies) == (all_of_them, one_address, 7, "10.0.0.7")
    assert (limits.still, limits.pace) == (60, 1000)


@each(
    ("soft", "hard", "becomes"),
    [
        (1024, 4096, [(4096, 4096)]),
        (1024, 1 << 20, [(65_536, 1 << 20)]),
        (1024, resource.RLIM_INFINITY, [(65_536, resource.RLIM_INFINITY)]),
        (65_535, 65_536, [(65_536, 65_536)]),
        (65_536, 1 << 20, []),
        (4096, 4096, []),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, []),
    ],
)
def test_open_files_are_raised_as_far_as_is_allowed_and_never_lowered(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, becomes: list[tuple[int, int]]
) -> None:
    made: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: made.append(limits))
    raise_files()
    assert made == becomes
