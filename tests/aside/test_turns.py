"""Work beside the event loop takes turns, and is fair to those who pay for it."""

import asyncio
import threading
import time
from collections import Counter

import pytest
from starlette.exceptions import HTTPException

from app.server.aside import RequestAccount, Seats, aside, on_account
from app.server.aside.payer import Payer
from tests.waiting import HANGS, until

GREEDY, OTHER = Payer("192.0.2.9"), Payer("192.0.2.10")
NEIGHBORS = (Payer("192.0.2.9", "grace", True), Payer("192.0.2.9", "new", True, True), Payer("192.0.2.9", "cookie"))


class Rooms:
    """Work that ends when it is told to, and how much of it runs for each payer."""

    def __init__(self, waiting: int = 100) -> None:
        self.seats = Seats(waiting=waiting)
        self.runs: Counter[Payer] = Counter()
        self.most: Counter[Payer] = Counter()
        self.end = threading.Event()
        self.lock = threading.Lock()

    def work(self, payer: Payer) -> Payer:
        with self.lock:
            self.runs[payer] += 1
            self.most[payer] = max(self.most[payer], self.runs[payer])
        assert self.end.wait(HANGS)
        with self.lock:
            self.runs[payer] -= 1
        return payer

    async def ask(self, payer: Payer, purpose: str = "") -> Payer:
        account = RequestAccount(payer, self.seats, purpose)
        return await on_account(account, aside(self.work, payer))


@pytest.mark.parametrize(
    ("other", "purpose"),
    [(OTHER, ""), *((one, "") for one in NEIGHBORS), (Payer(GREEDY.address, is_new=True), "way in")],
)
def test_a_stranger_leaves_a_seat_to_others_also_at_the_same_address(other: Payer, purpose: str) -> None:
    async def tried() -> None:
        rooms = Rooms()
        greedy = [asyncio.create_task(rooms.ask(GREEDY)) for _ in range(8)]
        await until(lambda: rooms.runs[GREEDY])
        waiting = asyncio.create_task(rooms.ask(other, purpose))
        await until(lambda: rooms.runs[other])
        rooms.end.set()
        assert await waiting == other
        assert await asyncio.gather(*greedy) == [GREEDY] * 8
        assert rooms.most == {GREEDY: 1, other: 1}

    asyncio.run(tried())


def test_a_person_cannot_have_as_much_waiting_as_a_hall_of_strangers() -> None:
    async def tried() -> None:
        rooms = Rooms()
        tasks = [asyncio.create_task(rooms.ask(NEIGHBORS[0])) for _ in range(50)]
        await until(lambda: any(task.done() for task in tasks))
        rooms.end.set()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert 0 < sum(isinstance(end, HTTPException) for end in ends) < 12

    asyncio.run(tried())


def test_too_much_of_one_payer_is_refused_and_that_of_others_is_not() -> None:
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
        account = RequestAccount(GREEDY, Seats())
        for _ in range(3):
            with pytest.raises(ValueError, match="no"):
                await on_account(account, aside(fails))
        assert await on_account(account, aside(str, 7)) == "7"
        assert account.spent > 0

    asyncio.run(tried())


def test_work_is_paid_by_its_account_and_its_lane_in_processor_time() -> None:
    def busy() -> None:
        begin = time.thread_time()
        while time.thread_time() < begin + 0.1:
            pass

    async def tried() -> None:
        seats = Seats()
        account = RequestAccount(GREEDY, seats)
        await on_account(account, aside(busy))
        assert account.spent == pytest.approx(0.1, abs=0.05)
        waiting = RequestAccount(OTHER, seats)
        await on_account(waiting, aside(time.sleep, 0.2))
        assert waiting.spent < 0.1
        used = [seats._queue._usage.of(f" {payer.lane.name}") for payer in (GREEDY, OTHER)]
        assert used == pytest.approx([0.1, 0.0], abs=0.05), "a turn is not lost by waiting"

    asyncio.run(tried())


def test_work_that_nobody_pays_for_runs_as_well() -> None:
    assert asyncio.run(aside(str, 7)) == "7"
