"""Who pays: a person, a cookie that has earned it, or an address; and what those of one party have together."""

import pytest

from app.server.aside.payer import NEW, EarnedCookies, Payer, network
from app.server.network.allowance import Allowance
from tests.each import each

HALL, SITE = "192.0.2.9", "2001:db8:1:2::"


def answered(allowance: Allowance, payers: list[Payer], cost: float = 1.0) -> int:
    """How many of a request each are let in; each costs more than an advance, and is charged at its end."""
    count = 0
    for payer in payers:
        if not allowance.wait(payer, 0.02):
            allowance.charge(payer, cost - 0.02)
            count += 1
    return count


@pytest.fixture
def allowance() -> Allowance:
    return Allowance(2, 60, lambda: 1000.0)


def persons(count: int, address: str = HALL, *, is_new: bool) -> list[Payer]:
    return [Payer(address, f"{number} of {address}", True, is_new) for number in range(count)]


@each("address", [HALL, SITE])
def test_new_persons_get_no_more_than_a_quarter_of_what_strangers_have_used_up(
    allowance: Allowance, address: str
) -> None:
    assert answered(allowance, [Payer(address)] * 9) == 2
    assert answered(allowance, persons(15, address, is_new=True), cost=0.1) == 5


@each("address", [HALL, SITE])
def test_persons_of_an_address_have_eight_times_as_much_together(allowance: Allowance, address: str) -> None:
    assert answered(allowance, [Payer(address)] * 9) == 2
    assert answered(allowance, persons(1, address, is_new=False) * 9) == 2
    assert answered(allowance, persons(99, address, is_new=False)) == 14


def test_networks_of_one_site_have_little_more_than_one(allowance: Allowance) -> None:
    assert answered(allowance, [Payer(f"2001:db8:1:{number:x}::") for number in range(20)], cost=0.1) == 20
    assert answered(allowance, [Payer(f"2001:db8:1:{number:x}::") for number in range(20)], cost=0.1) == 5
    assert answered(allowance, [Payer("2001:db8:2::")]) == 1
    mine = [Payer(f"2001:db8:7:{number:x}::", f"{number}", True) for number in range(40)]
    assert answered(allowance, mine) == 16


def test_neighboring_addresses_have_eight_times_as_much_together(allowance: Allowance) -> None:
    assert answered(allowance, [Payer(f"192.0.2.{number}") for number in range(40)]) == 16
    assert answered(allowance, [Payer("192.0.3.1")]) == 1


def test_a_greedy_newcomer_leaves_the_first_minutes_of_a_class_to_the_others(allowance: Allowance) -> None:
    hall = persons(30, is_new=True)
    assert answered(allowance, hall[:1] * 50, cost=0.03) == 8
    assert answered(allowance, [Payer(HALL)] * 30, cost=0.1) == 20
    assert answered(allowance, hall[1:], cost=0.005) == 29


def test_a_token_pays_nothing_and_has_a_lane_of_its_own(allowance: Allowance) -> None:
    assert answered(allowance, [Payer(HALL, token="course")] * 50) == 50
    assert Payer(HALL, token="course").lane.name == "grader course"


def test_each_has_a_lane_and_strangers_of_an_address_share_theirs() -> None:
    lanes = [Payer(HALL), Payer("192.0.2.10"), *persons(2, is_new=True), Payer(HALL, "cookie")]
    assert len({one.lane for one in lanes}) == 5
    assert [one.lane.shared for one in lanes] == [True, True, False, False, False]


def test_a_cookie_earns_its_lane_in_minutes_and_those_seen_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.aside.payer._COOKIES", 2)
    now = 1000.0
    cookies = EarnedCookies(lambda: now)
    assert not cookies.has("a")
    now += NEW - 1
    assert not cookies.has("a")
    assert not cookies.has("b")
    now += 1
    assert cookies.has("a")
    assert not cookies.has("c")
    now += NEW
    assert [cookies.has(name) for name in "acb"] == [True, True, False]


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
