import asyncio

import pytest

from app.core.errors import AnswerError
from app.course.content.catalog import Catalog
from app.course.kinds import Verdict
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each

RING = "collectives/ring-all-reduce-time"  # 70 ms
PARTS = "memory/traffic-of-stage-3"
NO_RUNNER = Runner(Settings())


def grade(catalog: Catalog, name: str, answer: str | dict[str, str], seed: int = 0) -> Verdict:
    return asyncio.run(catalog.exercise(name).grade(seed, answer, NO_RUNNER))


@each(
    "answer",
    ["70 ms", "70", "0.07 s", "7e-2 s", "0,07 s", "7×10^-2 s", "70_000 us", "70ms", " 70 ms ",
     "70 000 µs", "2 * 2 GB * 7/8 / 50 GB/s", "70.3", "69.7"],
)  # fmt: skip
def test_a_right_answer_may_be_written_in_many_ways(catalog: Catalog, answer: str) -> None:
    assert grade(catalog, RING, answer).correct


@each("answer", ["", "soon", "nan", "70 GB", "inf s", "1" * 5000, "70 ms ms"])
def test_an_unreadable_answer_is_not_a_wrong_one(catalog: Catalog, answer: str) -> None:
    with pytest.raises(AnswerError):
        grade(catalog, RING, answer)


@each(
    ("answer", "says"),
    [
        ("70 s", "right in ms, but your answer is in s."),
        ("70 us", "right in ms, but your answer is in µs."),
        ("560.5 ms", "every step"),  # listed, and so told before the slip of 8
        ("8.75 ms", "1/8 of the right one"),
        ("700 ms", "check the decimal point"),
        ("-70 ms", "sign"),
    ],
)
def test_a_slip_is_named_though_nobody_listed_it(catalog: Catalog, answer: str, says: str) -> None:
    verdict = grade(catalog, RING, answer)
    assert not verdict.correct
    assert says in verdict.feedback[0]


def test_a_coarse_answer_is_asked_for_another_digit(catalog: Catalog) -> None:
    verdict = grade(catalog, "collectives/latency-on-top", "70.1 ms")
    assert "one more digit" in verdict.feedback[0]


def test_the_edge_of_the_tolerance_counts(catalog: Catalog) -> None:
    assert grade(catalog, RING, "70.35 ms").correct
    assert not grade(catalog, RING, "70.36 ms").correct


def test_one_slip_costs_one_part(catalog: Catalog) -> None:
    # Twice the stage-3 traffic, and everything after it worked out rightly from that.
    answer = {
        "stage3": "82.68", "dp": "27.56", "extra": "55.12", "ratio": "3", "time": "826.8",
    }  # fmt: skip
    verdict = grade(catalog, PARTS, answer)
    assert verdict.score == 4 / 5
    assert not verdict.parts["stage3"].correct
    assert verdict.parts["time"].correct


def test_an_empty_part_is_neither_right_nor_wrong(catalog: Catalog) -> None:
    verdict = grade(catalog, PARTS, {"stage3": "41.34", "dp": " "})
    assert verdict.parts["dp"].correct is None
    assert verdict.score == 1 / 5
    assert "Still empty" in verdict.feedback[-1]


def test_both_ends_of_an_accepted_range_are_right(catalog: Catalog) -> None:
    for answer in ("41.34", "42", "41.7"):
        assert grade(catalog, PARTS, {"stage3": answer}).parts["stage3"].correct


def test_a_misspelt_part_is_offered_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(AnswerError, match="did you mean 'stage3'"):
        grade(catalog, PARTS, {"stage_3": "1"})


def test_a_mistake_is_told_for_the_drawn_numbers(catalog: Catalog) -> None:
    exercise = catalog.exercise(RING)
    for seed in (0, 3, 11):
        for answer, says in exercise.mistakes(seed):
            assert isinstance(answer, str)
            assert grade(catalog, RING, answer, seed).feedback == (says,)
