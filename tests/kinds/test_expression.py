import asyncio
import time
from collections.abc import Callable

import pytest

from app.catalog import Catalog
from app.errors import AnswerError
from app.kinds import Verdict
from app.kinds.expression import Expression
from app.sandbox.runner import Runner

VOLUME = "collectives/derive-the-volume"
TIME = "collectives/derive-the-time"
Grade = Callable[..., Verdict]


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop) -> Grade:
    def graded(answer: str, name: str = VOLUME, seed: int = 0) -> Verdict:
        return loop.run_until_complete(catalog.exercise(name).grade(seed, answer, runner))

    return graded


@pytest.mark.parametrize(
    "answer",
    [
        "2 * S * (N - 1) / N",
        "2*S*(N-1)/N",
        "2 S (N - 1) / N",
        "S*(N-1)/N + S*(N-1)/N",
        "2*S - 2*S/N",
        "2·S·(1 − 1/N)",
        "S * (2*N - 2) * N^-1",
        "(N-1)**1 * 2 * S / max(N, 1)",
    ],
)
def test_a_formula_is_judged_by_its_value(grade: Grade, answer: str) -> None:
    assert all(grade(answer, seed=seed).correct for seed in range(5))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("2 * S", "limit for many ranks"),
        ("S - S/N", "one phase"),
        ("6 * S * (N - 1) / N", "always 3 times"),
        ("16 * S * (N - 1) / N", "8 times"),
        ("2 * (N - 1) / N", "a plain number, and a value in B is wanted"),
        ("2 * S * (N - 1) / N / (1 B)", "a plain number, and a value in B is wanted"),
        ("S^2", "a mixed unit"),
        ("2 * S * (N - 1) / (N + 1)", "is right."),
        ("2 * S * (N - 1) / N + 1 MB", "is right."),
        ("S", "is right."),
    ],
)
def test_a_wrong_formula_is_told_why(grade: Grade, answer: str, says: str) -> None:
    verdict = grade(answer)
    assert not verdict.correct
    assert says in verdict.feedback[0]
    assert verdict.feedback[-1].startswith("Read as $")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "nothing is written"),
        ("__import__('os')", "none of the functions"),
        ("__import__('os').system('ls')", ""),
        ("9**9**9", "no value"),
        ("S/(N-N)", "no value"),
        ("(" * 10_000 + "S" + ")" * 10_000, "too long"),
        ("(" * 900 + "S" + ")" * 900, "too deeply"),
        ("-" * 1900 + "S", "too deeply"),
        ("s * N", "none of the letters"),
        ("collectives.ring_all_reduce_bytes(S, N)", "none of the functions"),
        ("collectives.ring_all_reduce_bytes", "none of the letters"),
        ("S < N", "without <"),
        ("'S'", "words in quotes"),
        ("max(S).first", "without names"),
        ("S +", "missing"),
        ("S $ N", ""),
        ("\0", ""),
        ("lambda: S", ""),
    ],
)
def test_what_is_no_formula_is_unreadable_at_once(grade: Grade, answer: str, says: str) -> None:
    begun = time.perf_counter()
    with pytest.raises(AnswerError, match=says or "."):
        grade(answer)
    assert time.perf_counter() - begun < 1  # a bound on hanging, not a measurement


def test_points_are_the_same_for_ever(catalog: Catalog) -> None:
    exercise = catalog.exercise(VOLUME)
    assert isinstance(exercise, Expression)
    first = exercise.points(7)[0]
    assert {name: quantity.value for name, quantity in first.items()} == {"S": 40e6, "N": 10}
    assert all(2 <= point["N"].value <= 1024 for point in exercise.points(3))
    assert all(point["N"].value == int(point["N"].value) for point in exercise.points(3))


def test_latency_needs_a_unit(grade: Grade) -> None:
    assert grade("2*(N-1)*(a + S/(N*B))", TIME).correct
    assert "of another" not in grade("2*(N-1)*a", TIME).feedback[0]
    with pytest.raises(AnswerError, match="no value"):
        grade("2*(N-1)*(a + S/N)", TIME)
