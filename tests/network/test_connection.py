"""Slow and endless connections are closed in time, and others are answered meanwhile."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from select import select

import pytest

from app.server.network.guard import Limits
from tests.each import each
from tests.network.serving import running
from tests.sockets import connected, rest
from tests.waiting import HANGS, wait_until

pytestmark = pytest.mark.slow(40)

PATIENCE = 1.0  # seconds
EACH = 40  # connections of one address
HOST = b"Host: x\r\n"
GET = b"GET /robots.txt HTTP/1.1\r\n" + HOST
POST = (
    b"POST /exercises/collectives/ring-all-reduce-time HTTP/1.1\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n" + HOST
)


@contextmanager
def served(folder: Path, **settings: str) -> Iterator[int]:
    """The port of a separate server."""
    environment = {
        **os.environ,
        "WALLCLOCK_DATABASE": f"sqlite:///{folder / 'w.db'}",
        "WALLCLOCK_RUNS": str(folder / "runs"),
        "WALLCLOCK_SANDBOX_WORKERS": "1",
        **{f"WALLCLOCK_{name.upper()}": value for name, value in settings.items()},
    }
    command = [sys.executable, "-m", "app", "serve", "--port", "0"]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"http://[^:]+:(\d+)", process.stderr.readline())
        assert found
        yield int(found[1])
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("served")
    limits = {"patience": str(PATIENCE), "connections_allowed": str(EACH), "proxies": ""}
    with served(folder, **limits) as made:
        assert b" 200 " in asked(made, GET + b"Connection: close\r\n\r\n")
        yield made


def asked(port: int, request: bytes) -> bytes:
    """Everything received until the connection is closed."""
    with closing(connected(port)) as visitor:
        visitor.sendall(request)
        return rest(visitor)


def trickled(port: int, first: bytes, more: bytes, pause: float = 0.1) -> tuple[float, bytes]:
    """How long the server waits before it closes the connection, and its last response."""
    with closing(connected(port)) as visitor:
        started, answer = time.monotonic(), b""
        visitor.sendall(first)
        visitor.settimeout(pause)
        while time.monotonic() - started < HANGS:
            try:
                piece = visitor.recv(65_536)
            except TimeoutError:
                try:
                    visitor.sendall(more)
                except OSError:
                    break
            except OSError:
                break
            else:
                if not piece:
                    break
                answer += piece
        return time.monotonic() - started, answer


@each(
    ("first", "more", "says"),
    [
        (b"", b"", b""),
        (b"", b"\r\n", b""),
        (b"GET / HT", b"", b" 408 "),
        (GET, b"A: b\r\n", b" 408 "),
        (POST + b"Content-Length: 1000\r\n\r\na", b"a", b" 408 "),
        (POST + b"Content-Length: 1000\r\n\r\n", b"", b" 408 "),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b" 408 "),
        (b"POST /api/v1/check HTTP/1.1\r\nContent-Length: 100\r\n" + HOST + b"\r\n", b"a", b" 401 "),
        (GET + b"\r\n", b"\r\n", b" 200 OK"),
    ],
    ids=["idle", "line ends", "line", "headers", "body", "no body", "chunks", "call", "again"],
)
def test_a_connection_that_keeps_the_server_waiting_is_closed_in_time(
    port: int, first: bytes, more: bytes, says: bytes
) -> None:
    took, answer = trickled(port, first, more)
    assert says in answer
    assert PATIENCE - 0.1 <= took < HANGS


def test_many_that_are_slow_are_all_closed(port: int) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(connected(port))) for _ in range(EACH - 5)]
        for number, visitor in enumerate(slow):
            visitor.sendall(GET if number % 2 else POST + b"Content-Length: 9\r\n\r\na")
        assert b" 200 " in asked(port, GET + b"Connection: close\r\n\r\n")
        assert [b" 408 " in rest(visitor) for visitor in slow] == [True] * len(slow)


@pytest.fixture
def patient() -> Iterator[int]:
    """The port of a server that closes none of the connections while a test runs."""
    with running(Limits(patience=60 * HANGS, each=EACH, all=10 * EACH)) as (made, _):
        yield made


def test_others_are_answered_while_many_are_slow(patient: int) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(closing(connected(patient))) for _ in range(EACH - 5)]
        for number, visitor in enumerate(slow):
            visitor.sendall(GET if number % 2 else b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\na")
        assert b" 200 " in asked(patient, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert select(slow, [], [], 0)[0] == []


def test_an_address_may_not_take_all_connections(patient: int) -> None:
    plain = b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"
    with ExitStack() as stack:
        held = [stack.enter_context(closing(connected(patient))) for _ in range(EACH)]
        for visitor in held:
            visitor.sendall(GET)
        assert b" 503 " in asked(patient, b"")
    wait_until(lambda: b" 200 " in asked(patient, plain))  # those that are closed do not count


def test_a_body_that_comes_steadily_may_take_its_time(port: int) -> None:
    """1,000 bytes each 50 ms is 20 times the pace; in total three times the patience."""
    size, each, pause = 60_000, 1_000, 0.05
    with closing(connected(port)) as visitor:
        visitor.sendall(POST + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // each):
            visitor.sendall(b"a" * each)
            time.sleep(pause)
        assert b" 200 OK" in rest(visitor)


def test_a_request_that_takes_long_to_answer_is_not_cut(port: int) -> None:
    """Time that the server works is not the client's delay: a batch that is sent at once."""
    line = b'{"exercise": "collectives/ring-all-reduce-time", "answer": "1"}\n'
    request = b"POST /api/v1/check/batch HTTP/1.1\r\nConnection: close\r\n" + HOST
    answer = asked(port, request + b"Content-Length: %d\r\n\r\n" % len(line) + line)
    assert b" 401 " in answer


@each(
    "head",
    [
        b"A: " + b"a" * 100_000,
        b"".join(b"A%d: b\r\n" % number for number in range(10_000)),
        b"Cookie: " + b"a=b;" * 20_000,
        b"A: " + b"a" * 3_000_000,
    ],
    ids=["long", "many", "cookie", "megabytes"],
)
@each("end", [b"\r\n\r\n", b""], ids=["whole", "unfinished"])
def test_headers_have_a_limit_whole_or_not(port: int, head: bytes, end: bytes) -> None:
    with closing(connected(port)) as visitor:
        try:
            visitor.sendall(GET + head + end)
        except ConnectionError:
            return  # closed while it was sent
        answer = rest(visitor)
        assert not answer or b" 431 " in answer or b" 408 " in answer
        assert b" 200 " not in answer


def test_a_chunk_of_nonsense_is_refused_and_the_server_lives(port: int) -> None:
    for nonsense in (b"\x00\xff" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 500):
        answer = asked(port, nonsense)
        assert not answer or b" 400 " in answer
    assert b" 200 " in asked(port, GET + b"Connection: close\r\n\r\n")


def test_a_proxy_may_speak_for_many(tmp_path: Path) -> None:
    """300 students behind a proxy: their requests come from its address, and name their own."""
    with served(tmp_path, connections_allowed="2", proxies="127.0.0.0/8", answers_allowed="1") as at:
        with ExitStack() as stack:
            for _ in range(6):
                stack.enter_context(closing(connected(at)))
            assert b" 200 " in asked(at, GET + b"Connection: close\r\n\r\n")
        answers = []
        for student in (1, 1, 2):
            head = b"X-Forwarded-For: 192.0.2.%d\r\nConnection: close\r\n" % student
            answers.append(asked(at, POST + head + b"Content-Length: 8\r\n\r\nanswer=1"))
        assert [answer.split()[1] for answer in answers] == [b"200", b"429", b"200"]
        assert b"retry-after: " in answers[1]


def test_without_a_proxy_a_client_cannot_claim_another_address(tmp_path: Path) -> None:
    with served(tmp_path, proxies="", answers_allowed="1") as at:
        statuses = []
        for student in (1, 2):
            head = b"X-Forwarded-For: 192.0.2.%d\r\nConnection: close\r\n" % student
            answer = asked(at, POST + head + b"Content-Length: 8\r\n\r\nanswer=1")
            statuses.append(answer.split()[1])
        assert statuses == [b"200", b"429"]
