"""The queue of the sandbox, without a sandbox: the resources of the slots are numbers."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from app.core.errors import UnavailableError
from app.server.aside.fair_queue import LEARNER_LIMIT, Client, FairQueue, Usage, anonymous, grader
from tests.each import each
from tests.waiting import HANGS

CLIENTS = (Client("a"), Client("b"), Client("c"), anonymous("192.0.2.1"), grader("token:school"))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(eq=False)
class Run:
    """A run as its caller sees it: it has a *place* while it is in flight."""

    client: Client
    long: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    place: Hashable = None
    loses: bool = False


class Visits(RuleBasedStateMachine):
    """Runs arrive, end, lose their slot and are canceled in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = Clock()
        self.queue: FairQueue[int] = FairQueue(self.clock)
        self.places = 0
        self.made = 0
        self.runs: dict[asyncio.Task[None], Run] = {}

    @initialize(places=st.integers(1, 9))
    def open(self, places: int) -> None:
        for _ in range(places):
            self.one_place_more()

    @rule(client=st.sampled_from(CLIENTS), long=st.booleans(), runs=st.integers(1, 3))
    def come(self, client: Client, long: bool, runs: int) -> None:
        for _ in range(runs):
            run = Run(client, long)
            self.runs[self.loop.create_task(self._visit(run))] = run
        self._settle()

    @precondition(lambda self: self.in_flight())
    @rule(which=st.integers(0, 99), seconds=st.floats(0, 2), loses=st.booleans())
    def end(self, which: int, seconds: float, loses: bool) -> None:
        run = self.in_flight()[which % len(self.in_flight())]
        self.clock.now += seconds
        run.loses = loses
        self.places -= loses
        run.over.set()
        self._settle()

    @precondition(lambda self: self.runs)
    @rule(which=st.integers(0, 99), together=st.booleans())
    def go_away(self, which: int, together: bool) -> None:
        """A caller is canceled, perhaps at the very moment a slot becomes free."""
        if together and self.in_flight():
            self.in_flight()[which % len(self.in_flight())].over.set()
        list(self.runs)[which % len(self.runs)].cancel()
        self._settle()

    @rule()
    def one_place_more(self) -> None:
        self.made += 1
        self.places += 1
        self.queue.add(self.made)
        self._settle()

    @rule(place=st.integers(1, 9))
    def a_free_place_goes(self, place: int) -> None:
        if place in self.queue._free:
            self.places -= 1
        self.queue.remove(place)

    @rule()
    def all_waiting_runs_are_refused(self) -> None:
        self.queue.refuse(UnavailableError("the sandbox is off"))
        self._settle()
        assert not self.waiting()

    @invariant()
    def no_run_waits_without_a_reason(self) -> None:
        """No run waits while its client has nothing in flight and a slot for it is free."""
        free = self.places - len(self.in_flight())
        busy = {run.client for run in self.in_flight()}
        for run in self.waiting():
            if run.client not in busy:
                assert free <= (self.places // 4 if run.long else 0)

    @invariant()
    def no_place_is_lost_or_taken_twice(self) -> None:
        taken = [run.place for run in self.in_flight()]
        assert len(set(taken)) == len(taken)
        assert len(self.queue._free) + len(taken) == self.places

    @invariant()
    def a_learner_has_one_run_in_flight(self) -> None:
        in_flight = Counter(run.client for run in self.in_flight())
        assert all(count == 1 for client, count in in_flight.items() if not client.shared)

    def teardown(self) -> None:
        """Every run ends."""
        self.one_place_more()
        for _ in range(len(self.runs) + 1):
            for run in self.in_flight():
                run.over.set()
            self._settle()
        assert not self.runs
        assert not self.queue._waiting
        assert not self.queue._running
        self.loop.close()

    def in_flight(self) -> list[Run]:
        return [run for run in self.runs.values() if run.place is not None]

    def waiting(self) -> list[Run]:
        return [run for run in self.runs.values() if run.place is None]

    async def _visit(self, run: Run) -> None:
        try:
            async with self.queue.slot(run.client, long=run.long) as lease:
                run.place = lease.resource
                await run.over.wait()
                lease.lost = run.loses
        except UnavailableError:
            pass

    def _settle(self) -> None:
        for _ in range(5):
            self.loop.run_until_complete(asyncio.sleep(0))
        self.runs = {task: run for task, run in self.runs.items() if not task.done()}


def test_no_run_waits_without_a_reason_and_every_run_ends() -> None:
    visits = settings(max_examples=150, stateful_step_count=40)
    run_state_machine_as_test(Visits, settings=visits)


def in_time(work: Coroutine[Any, Any, Any]) -> Any:
    """What *work* returns; a queue that forgets a caller fails."""
    return asyncio.run(asyncio.wait_for(work, HANGS))


def queue_of(places: int, clock: Clock | None = None) -> FairQueue[int]:
    queue: FairQueue[int] = FairQueue(clock or Clock())
    for place in range(places):
        queue.add(place)
    return queue


async def visit(queue: FairQueue[int], client: Client, served: list[str]) -> None:
    async with queue.slot(client):
        served.append(client.name)
        await asyncio.sleep(0)


@each("runs", range(2, 9))
def test_all_runs_of_a_learner_alone_are_served(runs: int) -> None:
    async def alone() -> list[str]:
        queue, served = queue_of(8), list[str]()
        await asyncio.gather(*(visit(queue, Client("a"), served) for _ in range(runs)))
        return served

    assert in_time(alone()) == ["a"] * runs


def test_learners_take_turns() -> None:
    async def order() -> list[str]:
        queue, served = queue_of(1), list[str]()
        await asyncio.gather(*(visit(queue, Client(name), served) for name in "aaaabc"))
        return served

    assert in_time(order()) == list("abcaaa")


def test_clients_that_used_less_go_first() -> None:
    clock = Clock()

    async def order() -> list[str]:
        queue, served = queue_of(1, clock), list[str]()
        async with queue.slot(Client("loops")):
            clock.now += 1.0
        async with queue.slot(Client("first")):
            waiting = [visit(queue, Client(name), served) for name in ("loops", "honest", "new")]
            tasks = [asyncio.create_task(one) for one in waiting]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return served

    assert in_time(order()) == ["honest", "new", "loops"]


def test_a_quarter_of_the_slots_is_reserved_for_short_runs() -> None:
    async def siege() -> list[str]:
        queue, served = queue_of(8), list[str]()
        over = asyncio.Event()

        async def loop(client: Client) -> None:
            async with queue.slot(client, long=True):
                served.append(client.name)
                await over.wait()

        loops = [Client(f"loops {number}") for number in range(5)] + [anonymous("192.0.2.1")] * 5
        tasks = [asyncio.create_task(loop(client)) for client in loops]
        await asyncio.sleep(0)
        at_once = len(served)
        await visit(queue, anonymous("192.0.2.1"), served)
        over.set()
        await asyncio.gather(*tasks)
        return [str(at_once), served[at_once]]

    assert in_time(siege()) == ["6", "anonymous at 192.0.2.1"]


def test_a_short_run_goes_before_long_ones_that_came_first() -> None:
    async def order() -> list[str]:
        queue, served = queue_of(1), list[str]()

        async def long_visit(name: str) -> None:
            async with queue.slot(Client(name), long=True):
                served.append(name)

        async with queue.slot(Client("x")):
            tasks = [asyncio.create_task(long_visit(name)) for name in ("a", "b")]
            await asyncio.sleep(0)
            tasks.append(asyncio.create_task(visit(queue, Client("short"), served)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return served

    assert in_time(order()) == ["short", "a", "b"]


def test_usage_decays() -> None:
    clock = Clock()
    usage = Usage(clock)
    usage.charge("a", 1.0)
    assert usage.of("a") == 1.0
    clock.now += 60
    assert usage.of("a") == 0.5
    assert usage.of("b") == 0.0


def test_the_memory_of_usage_is_bounded() -> None:
    usage = Usage(Clock())
    usage.charge("looper", 1.0)
    for number in range(30_000):
        usage.charge(f"visitor {number}", 0.01)
    assert usage.of("looper") == 1.0
    assert len(usage._used) <= 10_001


def test_a_learner_may_not_fill_the_queue() -> None:
    async def crowd() -> list[BaseException | None]:
        queue = queue_of(1)
        async with queue.slot(Client("a")):
            waiting = [asyncio.create_task(visit(queue, Client("a"), [])) for _ in range(10)]
            await asyncio.sleep(0)
            done = [task for task in waiting if task.done()]
        await asyncio.gather(*waiting, return_exceptions=True)
        return [task.exception() for task in done]

    refused = in_time(crowd())
    assert len(refused) == 10 - LEARNER_LIMIT
    assert all(isinstance(error, UnavailableError) for error in refused)


@each("client", [grader("token:school"), anonymous("192.0.2.1")])
def test_a_shared_client_uses_idle_slots_and_leaves_some_free(client: Client) -> None:
    async def alone() -> tuple[int, list[str]]:
        queue, served = queue_of(8), list[str]()
        held = [asyncio.create_task(visit(queue, client, served)) for _ in range(20)]
        await asyncio.sleep(0)
        at_once, at_all = len(served), asyncio.gather(*held)
        await visit(queue, Client("learner"), served)
        await at_all
        return at_once, served

    at_once, served = in_time(alone())
    assert at_once == 6
    assert served[at_once] == "learner"
    assert len(served) == 21


def test_a_shared_client_takes_one_slot_at_a_time_while_learners_wait() -> None:
    async def crowded() -> list[str]:
        queue, served = queue_of(2), list[str]()
        names = [grader("g")] * 6 + [Client("a"), Client("b"), Client("c"), Client("d")]
        async with queue.slot(Client("x")), queue.slot(Client("y")):
            tasks = [asyncio.create_task(visit(queue, client, served)) for client in names]
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return served

    served = in_time(crowded())
    assert sorted(served[:5]) == ["a", "b", "c", "d", "grader g"]
    assert len(served) == 10


def test_all_that_wait_are_limited_and_what_is_over_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.aside.fair_queue.TOTAL_LIMIT", 3)

    async def visits() -> int:
        queue = queue_of(1)
        for number in range(10):  # one runs and three wait, ten times
            served: list[str] = []
            names = [f"{number} {who}" for who in "abcd"]
            await asyncio.gather(*(visit(queue, Client(name), served) for name in names))
            assert sorted(served) == names
        five = (visit(queue, Client(name), []) for name in "abcde")
        results = await asyncio.gather(*five, return_exceptions=True)
        return sum(isinstance(result, UnavailableError) for result in results)

    assert in_time(visits()) == 1


def test_runs_that_were_refused_leave_their_places_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.aside.fair_queue.TOTAL_LIMIT", 2)

    async def crowd() -> list[str]:
        queue, served = queue_of(1), list[str]()
        async with queue.slot(Client("x")):
            refused = [asyncio.create_task(visit(queue, Client(name), served)) for name in "ab"]
            await asyncio.sleep(0)
            queue.refuse(UnavailableError("the sandbox is off"))
            await asyncio.gather(*refused, return_exceptions=True)
            assert queue.waiting == 0
            others = [asyncio.create_task(visit(queue, Client(name), served)) for name in "cd"]
            await asyncio.sleep(0)
            assert (queue.waiting, queue.taken) == (2, 1)
        await asyncio.gather(*others)
        return served

    assert in_time(crowd()) == ["c", "d"]


def test_graders_runs_are_never_refused_and_do_not_count_against_learners() -> None:
    async def crowd() -> list[str]:
        queue, served = queue_of(1), list[str]()
        async with queue.slot(Client("x")):
            tasks = [asyncio.create_task(visit(queue, grader("g"), served)) for _ in range(3_000)]
            await asyncio.sleep(0)
            tasks.append(asyncio.create_task(visit(queue, Client("a"), served)))
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return served

    served = in_time(crowd())
    assert len(served) == 3_001
    assert "a" in served[:2]
