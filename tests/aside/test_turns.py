"""Work beside the event loop takes turns, and is fair to addresses."""

import asyncio
import threading
from collections import Counter

import pytest
from starlette.exceptions import HTTPException

from app.server.aside import RequestAccount, Seats, aside, on_account
from tests.waiting import HANGS, until

GREEDY, OTHER = "192.0.2.9", "192.0.2.10"


class Rooms:
    """Work that ends when it is told to, and how much of it runs for each address."""

    def __init__(self, waiting: int = 100) -> None:
        self.seats = Seats(waiting=waiting)
        self.runs: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.end = threading.Event()
        self.lock = threading.Lock()

    def work(self, address: str) -> str:
        with self.lock:
            self.runs[address] += 1
            self.most[address] = max(self.most[address], self.runs[address])
        assert self.end.wait(HANGS)
        with self.lock:
            self.runs[address] -= 1
        return address

    async def ask(self, address: str) -> str:
        account = RequestAccount(address, address, self.seats)
        return await on_account(account, aside(self.work, address))


def test_one_address_leaves_a_seat_to_others() -> None:
    async def tried() -> None:
        rooms = Rooms()
        greedy = [asyncio.create_task(rooms.ask(GREEDY)) for _ in range(8)]
        await until(lambda: rooms.runs[GREEDY])
        other = asyncio.create_task(rooms.ask(OTHER))
        await until(lambda: rooms.runs[OTHER])
        rooms.end.set()
        assert await other == OTHER
        assert await asyncio.gather(*greedy) == [GREEDY] * 8
        assert rooms.most == {GREEDY: 1, OTHER: 1}

    asyncio.run(tried())


def test_too_much_of_one_address_is_refused_and_that_of_others_is_not() -> None:
    async def tried() -> None:
        rooms = Rooms(waiting=3)
        tasks = [asyncio.create_task(rooms.ask(GREEDY)) for _ in range(6)]
        await until(lambda: sum(task.done() for task in tasks) == 2)
        other = asyncio.create_task(rooms.ask(OTHER))
        await asyncio.sleep(0.05)
        rooms.end.set()
        assert await other == OTHER
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        refused = [end for end in ends if isinstance(end, HTTPException)]
        assert [end.status_code for end in refused] == [503, 503]
        assert all(end.headers == {"Retry-After": "2"} for end in refused)

    asyncio.run(tried())


def test_work_that_fails_frees_its_seat_and_is_charged() -> None:
    def fails() -> None:
        raise ValueError("no")

    async def tried() -> None:
        account = RequestAccount(GREEDY, GREEDY, Seats())
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await on_account(account, aside(fails))
        assert await on_account(account, aside(str, 7)) == "7"
        assert account.spent > 0

    asyncio.run(tried())


def test_work_that_nobody_pays_for_runs_as_well() -> None:
    assert asyncio.run(aside(str, 7)) == "7"
