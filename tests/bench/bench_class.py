"""A class of 300 joins by a link, opens an exercise, and answers at the same instant."""

import asyncio
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import repeat
from pathlib import Path
from urllib.parse import urlencode

import uvloop

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import create_class, join_code_of, members_of, number_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.policy import Policy
from app.server.db.learner_cookie import signing_secret
from app.server.db.session import connect, open_writing_session
from app.server.db.tables import now
from tests.bench.figures import Figure
from tests.bench.load import Running, form, server

_STUDENTS = 300
_RUSH = 20.0  # seconds in which all of them join: three times as fast as in a minute
_EXERCISE = "collectives/ring-all-reduce-time"
_FORM = re.compile(rb'name="form" value="([^"]+)"')
_SESSION = re.compile(rb"set-cookie: (session=[^;]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class _Student:
    """A browser with one connection."""

    def __init__(self, port: int, name: str) -> None:
        self.port, self.name = port, name
        self.cookie = ""

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, path: str, **form: str) -> tuple[int, bytes]:
        """The status and the whole answer."""
        body = urlencode(form).encode()
        method = "POST" if form else "GET"
        cookie = f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        self.writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{cookie}X-Fragment: 1\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = await self.reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        answer = await self.reader.readexactly(int(found[1]) if found else 0)
        if session := _SESSION.search(head):
            self.cookie = session[1].decode()
        return int(head.split(b" ", 2)[1]), answer

    async def join(self, code: str, wait: float) -> float:
        """The seconds that it took to join, after waiting for *wait* seconds; negative: it failed."""
        await asyncio.sleep(wait)
        await self.open()
        begun = time.perf_counter()
        _, page = await self.ask(f"/join/{code}")
        form = _FORM.search(page)
        status, _ = await self.ask(f"/join/{code}", name=self.name, form=form[1].decode() if form else "")
        took = time.perf_counter() - begun
        return took if status == 200 and self.cookie else -1.0


class _Answer(asyncio.Protocol):
    """An answer whose bytes are ready before the clock starts: the client costs little."""

    def __init__(self, student: _Student, seed: int) -> None:
        self._asked = form(f"/exercises/{_EXERCISE}?seed={seed}", student.cookie, b"answer=1+s")
        self._reply, self._begun = b"", 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport

    def send(self) -> "asyncio.Future[float]":
        """The seconds from sending to the verdict; negative: there was none."""
        self._took = asyncio.get_running_loop().create_future()
        self._begun = time.perf_counter()
        self.transport.write(self._asked)
        return self._took

    def data_received(self, data: bytes) -> None:
        self._reply += data
        end = self._reply.find(b"\r\n\r\n") + 4
        found = _LENGTH.search(self._reply, 0, max(end, 0))
        if end < 4 or len(self._reply) < end + (int(found[1]) if found else 0):
            return
        took = time.perf_counter() - self._begun
        right = b" 200 " in self._reply[:16] and b"Not yet" in self._reply
        self._took.set_result(took if right else -1.0)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._begun and not self._took.done():
            self._took.set_result(-1.0)


async def _at_once(port: int, answers: Sequence[_Answer]) -> Sequence[float]:
    loop = asyncio.get_running_loop()
    for one in answers:
        await loop.create_connection(partial(_itself, one), "127.0.0.1", port)
    took = await asyncio.gather(*(one.send() for one in answers))
    for one in answers:
        one.transport.abort()
    return took


def _itself(answer: _Answer) -> _Answer:
    return answer


def measure() -> Iterator[Figure]:
    """The times of joining and of answering, and how many failed."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as running:
        yield from _class_of(running, f"sqlite:///{folder}/keeps.db")


def _class_of(running: Running, database: str) -> Iterator[Figure]:
    engine = connect(database)
    secret = signing_secret(engine)
    with open_writing_session(engine) as session:
        row = create_class(session, secret, "Three hundred", "Europe/Berlin")
        policy = Policy(due=now() + timedelta(days=1), attempts=5)
        assignment = create_assignment(session, number_of(row), "Week 1", policy, [AssignmentEntry(_EXERCISE, 1.0)])
        session.commit()
        code = join_code_of(secret, row)
    students = [_Student(running.port, f"Student {number:03}") for number in range(_STUDENTS)]

    costs: list[tuple[float, float]] = []  # seconds of the server and of the client, an answer

    async def term() -> tuple[Sequence[float], Sequence[float], Sequence[float]]:
        waits = [_RUSH * number / _STUDENTS for number in range(_STUDENTS)]
        joined = await asyncio.gather(*map(_Student.join, students, repeat(code), waits))
        seeds = _seeds(secret, assignment)
        for student in students:  # nobody answers what was not opened
            await student.open()  # the connection on which it joined was idle for too long
            await student.ask(f"/exercises/{_EXERCISE}?seed={seeds[student.name]}")
        rounds = []
        for _ in range(2):
            begun, worked = running.busy(), time.process_time()
            answers = [_Answer(student, seeds[student.name]) for student in students]
            rounds.append(await _at_once(running.port, answers))
            own = time.process_time() - worked
            costs.append(((running.busy() - begun) / _STUDENTS, own / _STUDENTS))
        return joined, rounds[0], rounds[1]

    def _seeds(secret: str, assignment: int) -> dict[str, int]:
        with open_writing_session(engine) as session:
            return {
                one.name: variant_seed(secret, assignment, _EXERCISE, one.learner)
                for one in members_of(session, number_of(row))
            }

    joined, first, second = uvloop.run(term())
    engine.dispose()
    failed = sum(took < 0 for took in (*joined, *first, *second))
    yield Figure(f"{_STUDENTS} students who join and answer: failures", failed, "", 0, "lower")
    yield Figure("joining, 95 %", 1e3 * _p95(joined), "ms", 300, "lower")
    yield Figure(f"{_STUDENTS} answers at the same instant, 95 %", 1e3 * _p95(first), "ms", 300)
    yield Figure("and again", 1e3 * _p95(second), "ms", 300)
    yield Figure("processor time of the server, an answer", 1e3 * costs[1][0], "ms", 1)
    yield Figure("processor time of the client, an answer", 1e3 * costs[1][1], "ms")


def _p95(seconds: Sequence[float]) -> float:
    return sorted(seconds)[int(0.95 * len(seconds))]
