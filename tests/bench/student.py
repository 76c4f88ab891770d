"""Students of a crowd: each sends answers through a load balancer, and notes what comes back."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

NUMBERS, PROGRAM = "collectives/ring-all-reduce-time", "collectives/write-ring-time"
SEEDS = 20
_LOST = 60.0  # seconds after which an answer that is still refused is an error
_AGAIN = 0.2  # seconds until a refused answer is sent again
_DOWN = 1.0  # seconds for which the balancer avoids a server that it cannot connect to
_STATE = re.compile(rb'data-state="(\w+)"')
_COOKIE = re.compile(rb"set-cookie: learner=([^;\r]+)", re.IGNORECASE)
_REFUSALS = (ConnectionError, EOFError, TimeoutError)
_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Balancer:
    """Connects to any of the servers, as proxies do: to the next one if one cannot be reached."""

    def __init__(self, ports: Sequence[int]) -> None:
        self._down_until = dict.fromkeys(ports, 0.0)
        self.passed_on = 0

    async def connect(self, chance: random.Random) -> _Streams:
        """A connection to a server.

        Raises:
            ConnectionError: none can be reached.
        """
        now = time.monotonic()
        ports = sorted(self._down_until, key=lambda port: (self._down_until[port] > now, chance.random()))
        for port in ports:
            try:
                return await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                self._down_until[port] = time.monotonic() + _DOWN
                self.passed_on += 1
        raise ConnectionError("no server can be reached")


class RefusedError(Exception):
    """A server said that it cannot answer now."""


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer, and the verdict that is the right one."""

    path: str
    answer: str
    expected: str


@dataclass(slots=True)
class Outcome:
    """What the students have seen: seconds by path, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {NUMBERS: [], PROGRAM: []})
    told: list[tuple[str, str]] = field(default_factory=list)  # cookies and their answers
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The answers whose verdict has arrived."""
        return len(self.told)


class Student:
    """Sends answers one after the other, with pauses."""

    def __init__(self, number: int, balancer: Balancer, outcome: Outcome) -> None:
        self._random = random.Random(number)
        self._number, self._balancer, self._outcome = number, balancer, outcome
        self._cookie = ""
        self._sent = 0

    async def work(self, rights: Sequence[str], pause: float, programs: float, end: float) -> None:
        """Send an answer each *pause* seconds or so; the share *programs* of them are programs."""
        await asyncio.sleep(self._random.random() * pause)
        while time.monotonic() < end:
            self._sent += 1
            answer = self._answer(rights, is_program=self._random.random() < programs)
            began = time.monotonic()
            if await self._deliver(answer):
                self._outcome.seconds[answer.path.partition("?")[0]].append(time.monotonic() - began)
            rest = max(0.0, end - time.monotonic())
            await asyncio.sleep(min(rest, self._random.expovariate(1 / pause)))

    def _answer(self, rights: Sequence[str], *, is_program: bool) -> Sent:
        name = f"{self._number}-{self._sent}"
        is_right = self._random.random() < 0.5
        if is_program:
            fault = "" if is_right else "\n    return 0.25 * size_gb\n"
            return Sent(PROGRAM, f"# {name}\n{_begun(rights[-1], fault)}", _verdict(is_right))
        seed = self._random.randrange(SEEDS)
        # Spaces in front are stored, so that each answer differs from all others of its student.
        text = f"{' ' * (self._sent % 40)}{rights[seed] if is_right else f'{self._sent}.25 days'}"
        return Sent(f"{NUMBERS}?seed={seed}", text, _verdict(is_right))

    async def _deliver(self, sent: Sent) -> bool:
        until = time.monotonic() + _LOST
        while time.monotonic() < until:
            try:
                state = await asyncio.wait_for(self._post(sent), _LOST)
            except (*_REFUSALS, OSError, RefusedError) as error:
                self._outcome.refused[f"{type(error).__name__} {error}"[:60]] += 1
                await asyncio.sleep(_AGAIN)
                continue
            if state != sent.expected:
                self._outcome.wrong.append(f"{sent.path} {sent.answer!r}: {state}")
            self._outcome.told.append((self._cookie, sent.answer))
            return True
        self._outcome.errors.append(f"{sent.path} was never answered")
        return False

    async def _post(self, sent: Sent) -> str:
        """The state that the page shows."""
        reader, writer = await self._balancer.connect(self._random)
        try:
            body = urlencode({"answer": sent.answer}).encode()
            cookie = f"Cookie: learner={self._cookie}\r\n" if self._cookie else ""
            head = (
                f"POST /exercises/{sent.path} HTTP/1.1\r\nHost: localhost\r\nX-Fragment: 1\r\n"
                f"{cookie}Content-Type: application/x-www-form-urlencoded\r\n"
                f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            writer.write(head.encode() + body)
            answered = await reader.readuntil(b"\r\n\r\n")
            status = int(answered.split(None, 2)[1])
            length = re.search(rb"content-length: (\d+)", answered, re.IGNORECASE)
            page = await (reader.readexactly(int(length[1])) if length else reader.read())
        finally:
            writer.close()
        if status != 200:
            raise RefusedError(status)
        if found := _COOKIE.search(answered):
            self._cookie = found[1].decode()
        state = _STATE.search(page)
        return state[1].decode() if state else "no verdict"


def _verdict(is_right: bool) -> str:
    return "correct" if is_right else "incorrect"


def _begun(program: str, first: str) -> str:
    """*program*, whose function begins with the statement *first*."""
    head, _, rest = program.partition(":\n")
    return f"{head}:{first or chr(10)}{rest}"
