"""Lines as they arrive, the turns of answers, and the keys of the lines of a batch: without a server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request

from app.site.api.checks import Batch, LineStream, arrivals_of, body_lines
from app.site.grading.offline import Submission
from tests.each import each

RING = "collectives/ring-all-reduce-time"


def request(chunks: list[bytes]) -> Request:
    """A request whose body comes in *chunks*."""
    waiting = list(chunks)

    async def receive() -> dict[str, Any]:
        chunk = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": chunk, "more_body": bool(waiting)}

    return Request({"type": "http", "method": "POST", "headers": []}, receive)


@each(
    ("chunks", "arrivals"),
    [
        ([b""], [[]]),
        ([b"a\nb\n"], [[b"a", b"b"]]),
        ([b"a\nb"], [[b"a"], [b"b"]]),
        ([b"a", b"b\nc", b"\n"], [[], [b"ab"], [b"c"]]),
        ([b"1234\n"], [[b"1234"]]),
        ([b"12345\n"], [[None]]),
        ([b"12345"], [[], [None]]),
        ([b"1234"], [[], [b"1234"]]),
        ([b"12345", b"67\nab\n"], [[], [None, b"ab"]]),
        ([b"12345", b"67", b"\nabcd"], [[], [], [None], [b"abcd"]]),
        ([b"12345", b"6"], [[], [], [None]]),
        ([b"123", b"4\n123", b"45\nx"], [[], [b"1234"], [None], [b"x"]]),
    ],
)
def test_lines_arrive_when_they_are_complete_and_one_above_the_limit_is_none(
    chunks: list[bytes], arrivals: list[list[bytes | None]]
) -> None:
    async def found() -> tuple[list[list[bytes | None]], list[bytes | None]]:
        # An arrival without lines is one after which nothing is to be done.
        pieces = [lines async for lines in arrivals_of(request(chunks), 4)]
        return pieces, [line async for line in body_lines(request(chunks), 4)]

    pieces, lines = asyncio.run(found())
    assert [piece for piece in pieces if piece] == [piece for piece in arrivals if piece]
    assert lines == [line for piece in arrivals for line in piece]


def test_answers_of_one_learner_take_turns_and_those_of_others_do_not_wait() -> None:
    stored: list[str] = []

    async def answer(batch: Batch, learner: str, name: str, ready: asyncio.Event | None, fails: bool = False) -> None:
        async with batch.next_turn(learner) as turn:
            if ready:
                await ready.wait()
            if fails:
                raise ValueError(name)
            async with turn:
                stored.append(name)

    async def tried() -> None:
        batch, slow = Batch(""), asyncio.Event()
        tasks = [
            asyncio.create_task(answer(batch, "a", "first", slow)),
            asyncio.create_task(answer(batch, "a", "second", None)),
            asyncio.create_task(answer(batch, "b", "other", None)),
            asyncio.create_task(answer(batch, "a", "refused", None, fails=True)),
            asyncio.create_task(answer(batch, "a", "third", None)),
            asyncio.create_task(answer(batch, "a", "gone", None)),
            asyncio.create_task(answer(batch, "a", "last", None)),
        ]
        for _ in range(9):
            await asyncio.sleep(0)
        assert stored == ["other"]
        tasks[5].cancel()
        await asyncio.sleep(0)
        slow.set()
        ends = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        assert [type(end).__name__ for end in ends] == [
            "NoneType", "NoneType", "NoneType", "ValueError", "NoneType", "CancelledError", "NoneType",
        ]  # fmt: skip

    asyncio.run(tried())
    assert stored[:2] == ["other", "first"]
    assert sorted(stored) == ["first", "last", "other", "second", "third"]
    assert stored.index("second") < stored.index("third")


def test_a_line_is_known_again_by_its_ref_or_by_its_number() -> None:
    def keys(key: str, refs: list[str | int | None], first: int = 1) -> list[str]:
        batch = Batch(key)
        lines = [Submission(exercise=RING, answer="1 s", ref=ref) for ref in refs]
        return [batch.line_key(number, line) for number, line in enumerate(lines, first)]

    every = keys("k", ["a", "a", "b", None, None, 1, "1"])
    assert len(set(every)) == 7
    assert all(key.startswith("batch:") and len(key) == 6 + 64 for key in every)
    assert keys("k", ["b", "a", "a"], first=9) == [every[2], every[0], every[1]]
    assert keys("k", [None], first=4) == [every[3]]
    assert keys("other", ["a"]) != every[:1]
    assert keys("", ["a", None]) == ["", ""]


def test_a_stream_has_no_length_and_ends_its_lines_when_the_client_goes() -> None:
    sent: list[dict[str, Any]] = []
    closed: list[bool] = []

    async def lines() -> AsyncIterator[bytes]:
        try:
            yield b"one\n"
            yield b"two\n"
        finally:
            closed.append(True)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    asyncio.run(LineStream(lines())({"type": "http"}, receive, send))  # type: ignore[arg-type]
    names = {name for name, _ in sent[0]["headers"]}
    assert (sent[0]["status"], b"content-length" in names) == (200, False)
    assert [(one["body"], one["more_body"]) for one in sent[1:]] == [(b"one\n", True), (b"two\n", True), (b"", False)]
    assert closed == [True]
