"""A hall of 300 signs in within a minute while two at the same address do what they can against it."""

import asyncio
import re
import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from app.classes.people.classes import Role, create_class, enroll, number_of, renew_seat_code
from app.classes.people.persons import new_person
from app.server.db.learner_cookie import signing_secret
from app.server.db.session import connect, open_writing_session
from tests.bench.figures import Figure
from tests.bench.load import Running, server

_STUDENTS, _MINUTE = 300, 60.0
_CONNECTIONS = 8  # of the one who repeats the dearest request
_DEAR = "/explore/pipeline?schedule=zb_h1&stages=16&microbatches=64&virtual=8&against=interleaved&forward="
_SESSION = re.compile(rb"set-cookie: (session=[^;]+)", re.IGNORECASE)
_PLACE = re.compile(rb"location: (\S+)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


class _Browser:
    """A browser with one connection, and what it has seen."""

    def __init__(self, port: int) -> None:
        self._port, self.cookie = port, ""
        self.statuses: Counter[int] = Counter()
        self.pages: list[float] = []  # seconds

    async def open(self) -> "_Browser":
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def ask(self, path: str, **form: str) -> bytes:
        """The head of the answer."""
        body, began = urlencode(form).encode(), time.perf_counter()
        cookie = f"Cookie: {self.cookie}\r\n" if self.cookie else ""
        head = f"{'POST' if form else 'GET'} {path} HTTP/1.1\r\nHost: localhost\r\n{cookie}"
        kind = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write((head + kind).encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(answer)
        await self._reader.readexactly(int(length[1]) if length else 0)
        if session := _SESSION.search(answer):
            self.cookie = session[1].decode()
        self.statuses[int(answer.split(b" ", 2)[1])] += 1
        self.pages.append(time.perf_counter() - began)
        return answer

    async def arrive(self, code: str, wait: float) -> None:
        """Sign in with a seat code, then look at the class and at what is to be done."""
        await asyncio.sleep(wait)
        await self.open()
        await self.ask("/sign-in")
        found = _PLACE.search(await self.ask("/sign-in", code=code))
        await self.ask(found[1].decode() if found else "/classes")
        await self.ask("/me")
        self._writer.close()


def _seats(database: str, students: int) -> list[str]:
    """The codes of a class whose persons are new."""
    engine = connect(database)
    with open_writing_session(engine) as session:
        number = number_of(create_class(session, signing_secret(engine), "Hall", "UTC"))
        persons = [new_person(session, f"Student {student}") for student in range(students)]
        rows = [enroll(session, number, number_of(one), Role.STUDENT, one.name) for one in persons]
        codes = [renew_seat_code(session, row) for row in rows]
        session.commit()
    engine.dispose()
    return codes


async def _types_wrong_codes(port: int) -> None:
    browser = await _Browser(port).open()
    while True:
        await browser.ask("/sign-in", code=secrets.token_hex(4))


async def _repeats(browser: _Browser, numbers: Iterator[int]) -> None:
    await browser.open()
    while True:
        await browser.ask(f"{_DEAR}{1000 + next(numbers)}+ms")


@asynccontextmanager
async def _others(port: int, code: str) -> Any:
    """One student types wrong codes; another repeats the dearest request, with the *code* of a seat if that is given."""
    first, numbers = await _Browser(port).open(), count()
    if code:
        await first.ask("/sign-in", code=code)
    greedy = [_Browser(port) for _ in range(_CONNECTIONS)]
    for one in greedy:
        one.cookie = first.cookie
    work: list[Coroutine[Any, Any, None]] = [_repeats(one, numbers) for one in greedy]
    tasks = [asyncio.create_task(one) for one in [*work, _types_wrong_codes(port)]]
    try:
        yield greedy
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _arrivals(port: int, codes: Sequence[str], seconds: float) -> list[_Browser]:
    browsers = [_Browser(port) for _ in codes]
    await asyncio.gather(
        *(
            one.arrive(code, seconds * place / len(codes))
            for place, (one, code) in enumerate(zip(browsers, codes, strict=True))
        )
    )
    return browsers


async def _hall(running: Running, codes: Sequence[str], seconds: float, greedy_code: str) -> tuple[list[_Browser], ...]:
    """Those who arrive beside the two, and those who do so before and after, as quickly: a machine has other work."""
    half = len(codes) // 4
    alone = await _arrivals(running.port, codes[:half], seconds / 2)
    async with _others(running.port, greedy_code):
        beside = await _arrivals(running.port, codes[half:-half], seconds)
    return beside, [*alone, *await _arrivals(running.port, codes[-half:], seconds / 2)]


def besieged(seconds: float, students: int, *, signed_in: bool) -> tuple[Counter[int], float, float]:
    """The statuses that *students* see beside the two, and the p99 of their pages beside them and without."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder), WALLCLOCK_PROCESSOR_ALLOWED="40") as running:
        greedy, *codes = _seats(f"sqlite:///{Path(folder) / 'keeps'}.db", 2 * students + 1)
        beside, alone = asyncio.run(_hall(running, codes, seconds, greedy if signed_in else ""))
    statuses = sum((one.statuses for one in beside), Counter[int]())
    return statuses, _late(beside), _late(alone)


def _late(browsers: Sequence[_Browser]) -> float:
    times = sorted(second for one in browsers for second in one.pages)
    return times[int(0.99 * len(times))]


def measure() -> Iterator[Figure]:
    """The two are strangers first, then the greedy one is one of the students."""
    for signed_in in (False, True):
        statuses, beside, alone = besieged(_MINUTE, _STUDENTS, signed_in=signed_in)
        who = "a student" if signed_in else "a stranger"
        failed = sum(number for status, number in statuses.items() if status >= 400)
        yield Figure(f"hall of 300 beside {who}: refused or failed", failed, "", 0, "lower")
        yield Figure(f"hall of 300 beside {who}: p99 alone", 1e3 * alone, "ms", None, "lower")
        yield Figure(f"hall of 300 beside {who}: p99 / p99 alone", beside / alone, "", 3, "lower")
