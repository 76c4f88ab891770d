import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from app.main import create_app
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.network.allowance import REMEMBERED, Allowance, Allowances, BucketTable
from tests.each import each
from tests.waiting import HANGS

RING = "/exercises/collectives/ring-all-reduce-time"


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_burst_passes_and_then_a_steady_rate(clock: Clock) -> None:
    allowance = Allowance(6, 60, clock)
    assert [allowance.wait("a") for _ in range(6)] == [0] * 6
    assert allowance.wait("a") == pytest.approx(10)
    assert allowance.wait("b") == 0
    clock.now += 9
    assert allowance.wait("a") == pytest.approx(1)
    clock.now += 1.01
    assert allowance.wait("a") == 0
    assert allowance.wait("a") > 9


def test_a_bucket_is_full_again_after_an_idle_period(clock: Clock) -> None:
    allowance = Allowance(3, 60, clock)
    for _ in range(2):
        assert [allowance.wait("a") == 0 for _ in range(4)] == [True, True, True, False]
        clock.now += 60


def test_all_of_a_full_bucket_may_be_spent_at_once_whatever_the_time_is(clock: Clock) -> None:
    allowance = Allowance(100_000, 86_400, clock)
    for tick in range(1_000):
        clock.now = 50_000 + tick / 7  # where a time, a day later, and a day earlier differ
        assert allowance.wait(f"a{tick}", 100_000) == 0
        assert allowance.blocked(f"a{tick}", 1) > 0


def test_a_cost_above_the_limit_passes_when_the_bucket_is_full(clock: Clock) -> None:
    allowance = Allowance(3, 60, clock)
    assert allowance.wait("a", 100) == 0
    assert allowance.wait("a") == pytest.approx(20)
    clock.now += 60
    assert allowance.wait("a", 100) == 0


def test_zero_means_no_limit(clock: Clock) -> None:
    allowance = Allowance(0, 60, clock)
    assert not any(allowance.wait("a") for _ in range(10_000))


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0.1, 5)), max_size=60), st.integers(1, 20))
def test_never_more_than_the_rate_allows(steps: list[tuple[float, float]], most: int) -> None:
    """What was let through in a time T is at most *most* + T * pace: the promise of a bucket."""
    clock = Clock()
    allowance, spent = Allowance(most, 60, clock), 0.0
    for pause, cost in steps:
        clock.now += pause
        if allowance.wait("a", cost) == 0:
            spent += min(cost, most)
        assert spent <= most + (clock.now - Clock.now) * most / 60 + 1e-6


def test_memory_is_bounded_and_the_emptiest_buckets_are_remembered(clock: Clock) -> None:
    allowance = Allowance(10, 60, clock)
    while not allowance.wait("spender"):
        pass
    size = len(allowance._table._memory)
    for number in range(3 * REMEMBERED):
        allowance.wait(f"stranger {number}")
    assert len(allowance._table._memory) == size < 2**20
    assert allowance.wait("spender") > 0


def test_what_is_charged_may_be_owed_and_given_back(clock: Clock) -> None:
    allowance = Allowance(60, 60, clock)
    allowance.charge("a", 70)
    assert allowance.blocked("a", 1) == pytest.approx(11)
    allowance.charge("a", -40)
    assert allowance.blocked("a", 1) == 0
    assert allowance.blocked("a", 35) == pytest.approx(5)


@each(("before", "bill"), [(0, 90), (59, 60), (60, 10_000), (75, 1)])
def test_a_debt_has_a_ceiling_of_a_quarter(clock: Clock, before: float, bill: float) -> None:
    allowance = Allowance(60, 60, clock)
    allowance.charge("a", before)
    allowance.charge("a", bill)
    assert allowance.blocked("a", 1) == pytest.approx(16)


def test_a_payer_draws_on_all_purses_and_on_none_if_one_of_them_has_too_little(clock: Clock) -> None:
    allowance = Allowance(10, 60, clock)
    ada, bob = Payer("192.0.2.7", "ada", True), Payer("192.0.2.7", "bob", True)
    assert allowance.wait(ada, 10) == 0
    assert allowance.wait(ada) == pytest.approx(6)
    assert allowance.wait(bob, 9) == 0
    allowance.charge("everybody at 192.0.2.7", 7.5 - 19 / 8)  # of 10, which stand for 80
    assert allowance.wait(bob, 1) == 0
    assert [allowance.wait(Payer("192.0.2.7", f"{name}", True), 10) == 0 for name in "cde"] == [True, False, False]
    assert [allowance.wait(Payer("192.0.2.7", f"{name}", True), 9) == 0 for name in "de"] == [True, False]
    allowance.charge(ada, -10)
    assert allowance.wait(ada, 10) == 0


def test_what_is_owed_is_not_taken_from_others(clock: Clock) -> None:
    """Eight long requests at once, each let in before the first has ended."""
    allowance = Allowance(40, 60, clock)
    for _ in range(8):
        assert allowance.wait(Payer("192.0.2.7"), 4) == 0
    for _ in range(8):
        allowance.charge(Payer("192.0.2.7"), 16)
    assert allowance.blocked(Payer("192.0.2.7"), 1) == pytest.approx(16.5)
    assert allowance.blocked("newcomers at 192.0.2.7", 8) == 0 < allowance.blocked("newcomers at 192.0.2.7", 8.1)


SPENDER = """
import sys
from pathlib import Path
from app.server.aside.payer import Payer
from app.server.config import Settings
from app.server.network.allowance import Allowances

allowance = Allowances.of(Settings(answers_allowed=100), Path(sys.argv[1])).answers
print(sum(allowance.wait("192.0.2.7") == 0 for _ in range(400)))
"""


def test_processes_of_a_server_share_their_allowances(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SPENDER, str(tmp_path / "allowances")]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    granted = [int(one.communicate()[0]) for one in processes]
    # 100 at once, and what is refilled meanwhile: 100 a minute.
    assert 100 <= sum(granted) <= 150, granted


HOLDER = """
import fcntl, os, sys
from pathlib import Path
from app.server.network.allowance import BucketTable

table = BucketTable(Path(sys.argv[1]))
fcntl.lockf(table._file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_a_process_that_is_killed_with_the_lock_blocks_no_other(clock: Clock, tmp_path: Path) -> None:
    file = tmp_path / "allowances"
    allowance = Allowance(2, 60, clock, table=BucketTable(file))
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout
    assert holder.stdout.readline() == b"held\n"
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(allowance.wait, "a")
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
        holder.kill()
        assert waiting.result(timeout=HANGS) == 0
    holder.communicate()


def test_each_allowance_counts_apart(clock: Clock) -> None:
    table = BucketTable()
    one, other = (Allowance(1, 60, clock, table=table, name=name) for name in ("one", "other"))
    assert (one.wait("a"), other.wait("a")) == (0, 0)
    assert one.wait("a") > 0


def test_every_limit_is_of_its_own_setting_and_period() -> None:
    settings = Settings(answers_allowed=2, runs_allowed=3, sent_runs_allowed=4, processor_allowed=5, storage_allowed=6)
    minute, hour, day = 60, 3_600, 86_400
    limits = {
        "answers": (2, minute), "runs": (3, hour), "sent_runs": (4, hour), "processor": (5, minute),
        "ways_in": (5, minute), "files": (5, minute), "storage": (6, day), "wrong_codes": (10, minute),
        "wrong_codes_of_class": (100, hour), "own_wrong_codes": (2_000, 30 * day), "sign_ins": (1_000, minute),
    }  # fmt: skip
    made = Allowances.of(settings)
    assert limits.keys() == {one.name for one in fields(made)}
    for name, (most, period) in limits.items():
        allowance: Allowance = getattr(made, name)
        assert allowance.wait("a", most) == 0, name
        assert allowance.blocked("a", 1) == pytest.approx(period / most, rel=0.01, abs=0.05), name


def test_an_allowance_costs_next_to_nothing() -> None:
    allowance = Allowances.of(Settings()).processor
    times = []
    for _ in range(5):
        begin = time.thread_time()
        for number in range(2000):
            allowance.charge(f"192.0.2.{number % 200}", 0.001)
        times.append((time.thread_time() - begin) / 2000)
    assert min(times) < 20e-6


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("small")
    settings = Settings(database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1, answers_allowed=1)
    return TestClient(create_app(settings), follow_redirects=False)


def test_a_limited_address_is_told_when_to_retry(small: TestClient) -> None:
    with small as client:
        answers = []
        for _ in range(5):
            client.cookies.clear()
            answers.append(client.post(RING, data={"answer": "70 ms"}))
        assert [answer.status_code for answer in answers] == [200, 429, 429, 429, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert "Too many answers came from your network address" in answers[-1].text
        assert "default-src" in answers[-1].headers["content-security-policy"]
        assert client.get(RING).status_code == 200


def test_a_class_behind_one_address_is_never_limited(clock: Clock) -> None:
    """300 students who each hand in an answer of 400 characters every 7 seconds, for an hour."""
    allowance = Allowance(Settings().answers_allowed, 60, clock)
    for _ in range(3600 // 7):
        assert not any(allowance.wait("school", 1.4) for _ in range(300))
        clock.now += 7
