"""Jobs are run once for each key, a few at a time, and never without bound."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest
from starlette.exceptions import HTTPException

from app.server.aside.jobs import BoundedJobs
from tests.waiting import until


class Bench:
    """Jobs that end when they are told to; *runs* of each key, and the most at once."""

    def __init__(self, *, at_once: int = 2, waiting: int = 9, room: int = 100) -> None:
        self.jobs = BoundedJobs[str, str]("too many", at_once=at_once, waiting=waiting, room=room)
        self.runs: Counter[str] = Counter()
        self.now = self.most = 0
        self.end = asyncio.Event()

    def job(self, key: str) -> Callable[[], Awaitable[str]]:
        async def work() -> str:
            self.runs[key] += 1
            self.now += 1
            self.most = max(self.most, self.now)
            await self.end.wait()
            self.now -= 1
            if key == "bad":
                raise ValueError(key)
            return key

        return work

    def ask(self, key: str) -> "asyncio.Task[str]":
        return asyncio.create_task(self.jobs.result(key, self.job(key), lambda: None))


def test_a_key_is_run_once_however_often_it_is_asked_for() -> None:
    async def tried() -> None:
        bench = Bench()
        tasks = [bench.ask(key) for key in "abab"]
        tasks[0].cancel()  # others wait for it
        bench.end.set()
        assert await asyncio.gather(*tasks[1:]) == ["b", "a", "b"]
        assert await bench.ask("a") == "a"
        assert bench.runs == {"a": 1, "b": 1}

    asyncio.run(tried())


def test_a_few_run_at_once_and_too_many_that_wait_are_told_to_ask_again() -> None:
    async def tried() -> None:
        bench = Bench(waiting=3)
        tasks = [bench.ask(str(number)) for number in range(6)]
        await until(lambda: any(task.done() for task in tasks))
        bench.end.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        busy = [end for end in ends if isinstance(end, HTTPException)]
        assert [(end.status_code, end.detail) for end in busy] == [(503, "too many")] * len(busy)
        assert all(int((end.headers or {})["Retry-After"]) > 0 for end in busy)
        assert 0 < len(busy) < 6 - bench.most
        assert bench.most <= 2

    asyncio.run(tried())


def test_the_results_used_last_are_remembered_as_long_as_there_is_room() -> None:
    async def tried() -> None:
        bench = Bench(room=2)
        bench.end.set()
        for key in ("aaa", "bbb", "aaa", "cc", "aaa", "bbb", "cc"):
            assert await bench.ask(key) == key
        assert bench.runs == {"aaa": 1, "bbb": 2, "cc": 2}

    asyncio.run(tried())


def test_a_failure_is_told_to_all_who_wait_and_not_remembered() -> None:
    async def tried() -> None:
        bench = Bench()
        tasks = [bench.ask("bad") for _ in range(2)]
        bench.end.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(end) for end in ends] == ["bad", "bad"]
        with pytest.raises(ValueError, match="bad"):
            await bench.ask("bad")
        assert bench.runs == {"bad": 2}

    asyncio.run(tried())


def test_what_is_not_admitted_is_not_run_and_what_is_remembered_needs_no_admission() -> None:
    def refuse() -> None:
        raise HTTPException(429)

    async def tried() -> None:
        bench = Bench()
        bench.end.set()
        with pytest.raises(HTTPException):
            await bench.jobs.result("a", bench.job("a"), refuse)
        assert not bench.runs
        await bench.ask("a")
        assert await bench.jobs.result("a", bench.job("a"), refuse) == "a"

    asyncio.run(tried())


def test_a_job_without_a_key_waits_for_a_seat_and_is_not_remembered() -> None:
    async def tried() -> None:
        bench = Bench(at_once=1)
        tasks = [asyncio.create_task(bench.jobs.run(bench.job("a"))) for _ in range(2)]
        await until(lambda: bench.runs["a"])
        bench.end.set()
        assert await asyncio.gather(*tasks) == ["a", "a"]
        assert bench.runs == {"a": 2}
        assert bench.most == 1

    asyncio.run(tried())
