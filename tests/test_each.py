"""The decorator that runs many cases as one test."""

import pytest

from tests.each import each

seen: list[tuple[int, str]] = []


@each("number", [1, 2])
@each("letter", ["a", "b", "c"], ids=str.upper)
def test_every_case_of_both_runs(number: int, letter: str) -> None:
    seen.append((number, letter))


def test_each_pair_was_seen_once() -> None:
    seen.clear()
    test_every_case_of_both_runs()
    assert seen == [(n, letter) for n in (1, 2) for letter in "abc"]


@each(("low", "high"), [(1, 2), (4, 3), (5, 6), (8, 7)], ids=["up", "down", "on", "back"])
def rises(low: int, high: int) -> None:
    assert low < high


@each("text", ["1", "one"])
def is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        int(text)


def test_all_that_fail_are_named() -> None:
    with pytest.raises(BaseExceptionGroup, match="2 cases failed") as failed:
        rises()
    assert [one.__notes__ for one in failed.value.exceptions] == [["in the case down"], ["in the case back"]]


def test_one_that_is_not_refused_fails_as_itself() -> None:
    with pytest.raises(pytest.fail.Exception) as failed:
        is_refused()
    assert failed.value.__notes__ == ["in the case '1'"]


def test_a_skip_is_of_the_whole_test() -> None:
    @each("number", [1, 2])
    def skips(number: int) -> None:
        pytest.skip(f"after {number}")

    with pytest.raises(pytest.skip.Exception, match="after 1"):
        skips()


def test_a_name_that_the_test_does_not_take_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"does not take \['letter'\]"):
        each("letter", "ab")(lambda number: None)


def test_fixtures_are_those_that_are_left(request: pytest.FixtureRequest) -> None:
    @each("number", [3])
    def fixed(number: int, request: pytest.FixtureRequest) -> None:
        assert (number, request.node.name) == (3, "test_fixtures_are_those_that_are_left")

    fixed(request=request)
