"""Reads that are gathered: what arrives while others wait is looked up with them."""

import asyncio
from collections.abc import Awaitable, Sequence

from app.server.db.session import BatchedLookup, Outage


def looked_up(arrivals: Sequence[int], most: int = 100) -> list[list[int]]:
    """The keys of each look-up, where key number i comes *arrivals*[i] turns after the first."""
    calls: list[list[int]] = []

    def squares(keys: Sequence[int]) -> list[int]:
        calls.append(list(keys))
        return [key * key for key in keys]

    async def ask(gathered: "BatchedLookup[int, int]", key: int, turns: int) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        return await gathered.of(key)

    async def run() -> list[int]:
        gathered = BatchedLookup(squares, Outage(), most)
        asked: list[Awaitable[int]] = [ask(gathered, key, at) for key, at in enumerate(arrivals)]
        return list(await asyncio.gather(*asked))

    assert asyncio.run(run()) == [key * key for key in range(len(arrivals))]
    return calls


def test_requests_that_arrive_one_after_the_other_are_looked_up_together() -> None:
    assert looked_up([turn for turn in range(20) for _ in range(3)]) == [list(range(60))]


def test_one_that_comes_later_does_not_hold_up_the_others() -> None:
    assert looked_up([0, 0, 9]) == [[0, 1], [2]]


def test_no_look_up_has_more_keys_than_a_query_may_have_parameters() -> None:
    assert list(map(len, looked_up([0] * 25, most=10))) == [10, 10, 5]


def test_keys_that_never_stop_coming_are_looked_up_all_the_same() -> None:
    assert max(map(len, looked_up(list(range(35)), most=10))) == 10
