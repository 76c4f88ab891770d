"""A request has a ceiling of processor time, whoever pays for it."""

import asyncio
import math
import threading
import time
from contextlib import suppress

import pytest
from starlette.exceptions import HTTPException

from app.server.aside import RequestAccount, Seats, aside, lift_ceiling, on_account
from app.server.aside.ceiling import CEILING, end_overtime, run_within
from app.server.aside.payer import Payer


def work_for(seconds: float) -> str:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return "done"


class Ending(threading.Thread):
    """Calls `end_overtime` all the time, as the watch of stalls does."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.is_over = False

    def run(self) -> None:
        while not self.is_over:
            end_overtime()
            time.sleep(0.01)

    def __enter__(self) -> "Ending":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over = True
        self.join()


def test_work_beyond_its_seconds_is_ended_and_says_so() -> None:
    with Ending(), pytest.raises(HTTPException, match="10 s of processor time") as refusal:
        run_within(0.1, lambda: work_for(60))
    assert refusal.value.status_code == 503
    assert refusal.value.headers == {"Retry-After": "60"}
    assert work_for(0.05) == "done"  # nothing arrives later


def test_work_within_its_seconds_has_its_result_and_its_errors() -> None:
    with Ending():
        assert run_within(5, lambda: work_for(0.1)) == "done"
        with pytest.raises(KeyError):
            run_within(5, lambda: vars(math)["missing"])
        with pytest.raises(HTTPException):
            run_within(0, lambda: pytest.fail("has no seconds left"))


def test_a_thread_that_waits_uses_nothing() -> None:
    with Ending():
        assert run_within(0.1, lambda: time.sleep(0.3)) is None


def test_an_error_that_came_too_late_reaches_nobody() -> None:
    with Ending():
        ended = 0
        for _ in range(100):
            try:
                run_within(0.002, lambda: work_for(0.01))
            except HTTPException:
                ended += 1
            work_for(0.0005)
    assert ended > 50


def test_no_handler_of_errors_keeps_the_work_going() -> None:
    def stubborn() -> None:
        while True:
            with suppress(Exception):  # as some library may have
                work_for(1)

    with Ending(), pytest.raises(HTTPException):
        run_within(0.1, stubborn)


async def asked(spent: float, *, lifted: bool = False) -> str:
    account = RequestAccount(Payer("192.0.2.9"), Seats(), spent=spent)

    async def work() -> str:
        if lifted:
            lift_ceiling()
        return await aside(work_for, 0.01)

    return await on_account(account, work())


def test_what_a_request_has_used_counts_whoever_pays() -> None:
    assert asyncio.run(asked(CEILING - 1)) == "done"
    with pytest.raises(HTTPException, match="ask for less"):
        asyncio.run(asked(CEILING))


def test_a_stream_has_a_ceiling_for_each_piece_of_its_work() -> None:
    assert asyncio.run(asked(100 * CEILING, lifted=True)) == "done"
    assert math.isfinite(CEILING)
