import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from app.config import Settings
from app.main import create_app
from app.network.allowance import _REMEMBERED, Allowance, network
from tests.each import each

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
    for number in range(3 * _REMEMBERED):
        allowance.wait(f"stranger {number}")
    assert len(allowance._full_at) <= _REMEMBERED
    assert allowance.wait("spender") > 0


@each(
    ("one", "other", "shared"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("x" * 100, "x" * 200, True),
        ("", "unix", False),
    ],
)
def test_a_network_of_ipv6_is_one_address(one: str, other: str, shared: bool) -> None:
    assert (network(one) == network(other)) is shared


@pytest.fixture
def small(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("small")
    settings = Settings(
        database=f"sqlite:///{folder / 'w.db'}", sandbox_workers=1, answers_allowed=1
    )
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
