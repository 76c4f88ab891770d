import asyncio
import random
import re
import time
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from app.core.errors import AnswerError
from app.core.expressions import evaluate, names_in, parse_expression
from app.course.content.catalog import Catalog
from app.course.kinds import Verdict
from app.course.kinds.base import mistake_key
from app.course.kinds.expression import Expression, Symbol
from app.course.sandbox.runner import Runner
from tests.each import each
from tests.kinds.small import found, graded, small

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
        ("S - S/N", "one of the two phases"),
        ("6 * S * (N - 1) / N", "always 3 times"),
        ("16 * S * (N - 1) / N", "8 times"),
        ("2 * (N - 1) / N", "a plain number, but the answer is a value in B"),
        ("2 * S * (N - 1) / N / (1 B)", "a plain number, but the answer is a value in B"),
        ("S^2", "a value in B^2, but the answer is a value in B: divide by something in B"),
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
        ("", "the answer is empty"),
        ("__import__('os')", "not one of the functions"),
        ("__import__('os').system('ls')", ""),
        ("9**9**9", "no value"),
        ("S/(N-N)", "no value"),
        ("(" * 10_000 + "S" + ")" * 10_000, "too long"),
        ("(" * 900 + "S" + ")" * 900, "too deeply"),
        ("-" * 1900 + "S", "too deeply"),
        ("s * N", "not one of the letters"),
        ("collectives.ring_all_reduce_bytes(S, N)", "not one of the functions"),
        ("collectives.ring_all_reduce_bytes", "not one of the letters"),
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
    begun = time.process_time()
    with pytest.raises(AnswerError, match=says or "."):
        grade(answer)
    assert time.process_time() - begun < 1  # a bound on hanging, not a measurement


def test_points_are_the_same_for_ever(catalog: Catalog) -> None:
    exercise = catalog.exercise(VOLUME)
    assert isinstance(exercise, Expression)
    first = exercise.points(7)[0]
    assert {name: quantity.value for name, quantity in first.items()} == {"S": 40e6, "N": 10}
    assert all(2 <= point["N"].value <= 1024 for point in exercise.points(3))
    assert all(point["N"].value == int(point["N"].value) for point in exercise.points(3))


def spellings(formula: str) -> list[str]:
    """*formula* as other people type it."""
    tight = formula.replace(" ", "")
    dotted = formula.replace("*", "·").replace("/", "÷").replace("-", "−")
    glued = re.sub(r"(?<=\b[A-Za-z]|\d|\))\s*\*\s*(?=[A-Za-z]\b|\()", "", formula)
    spaced = re.sub(r"\s*\*\s*(?=[A-Za-z(])", " ", formula)
    raised = formula.replace("^", "**")
    named = f"T = {formula}"
    rooted = re.sub(r"sqrt(?=\()", "√", formula).replace("log2(x)", "log(x, 2)")
    return [tight, dotted, glued, spaced, raised, named, rooted, formula.replace("*", "×")]


def test_every_formula_may_be_spelled_in_many_ways(catalog: Catalog, grade: Grade) -> None:
    exercises = [e for e in catalog.exercises if isinstance(e, Expression)]
    assert exercises
    for exercise in exercises:
        for text in spellings(exercise.answer):
            for seed in range(3):
                assert grade(text, exercise.id, seed).correct, (exercise.id, text)


# What the worked solutions arrive at, and other right forms of it.
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("capstone/derive-the-days", "6*N*D*r/(P*u)"), ("capstone/derive-the-days", "6NDr/(Pu)"),
        ("capstone/derive-the-days", "(6*FLOP)*N*D*r/(P*u)"), ("capstone/derive-the-days", "6 FLOP*N*D/(G*P*u)*G*r"),
        ("testtime/derive-the-breakeven", "(c-C)/(2*(N-n))"), ("testtime/derive-the-breakeven", "(c-C)/(2(N-n))"),
        ("testtime/derive-the-breakeven", "(c-C)/(2 FLOP*(N-n))"),
        ("tensor/derive-the-traffic", "8bshe(T-1)/T"), ("tensor/derive-the-traffic", "8bshe(1 - 1/T)"),
        ("accumulation/derive-the-share", "c(1-s)/(st)"), ("accumulation/derive-the-share", "(c/s - c)/t"),
        ("checkpoints/derive-the-optimum", "√(2C/M)"), ("checkpoints/derive-the-optimum", "(2C/M)^(1/2)"),
        ("precision/derive-the-spacing", "exp2(floor(log(x,2)) - f)"),
        ("collectives/derive-the-volume", "V = 2S(N-1)/N"),
    ],
)  # fmt: skip
def test_the_formula_of_the_worked_solution_is_right(grade: Grade, name: str, answer: str) -> None:
    assert all(grade(answer, name, seed).correct for seed in range(5))


@pytest.mark.parametrize(
    ("name", "answer", "says"),
    [
        ("capstone/derive-the-days", "6*N*D*P*r/(G*u)", "multiply by something in s^2"),
        ("capstone/derive-the-days", "6*N*D/(G*u)", "plain number, but the answer is a value in $: multiply by"),
        ("tensor/derive-the-traffic", "8bshe^2(T-1)/T", "a value in B^2"),
        ("testtime/derive-the-breakeven", "(c-C)/(N-n)", ""),
    ],
)  # fmt: skip
def test_a_wrong_unit_is_told_with_its_cure(grade: Grade, name: str, answer: str, says: str) -> None:
    verdict = grade(answer, name)
    assert not verdict.correct
    assert says in verdict.feedback[0]
    assert "mixed unit" not in verdict.feedback[0]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("2*s*(N-1)", r"'s' is not one of the letters N, S.* \(read as far as '2\*'\)"),
        ("2*S*((N-1)/N", "missing before the end"), ("SN" * 400, "too many"), ("√" * 900 + "S", "too deeply"),
        ("S + N", "are of different kinds"), ("SX", "not one of the letters"), ("2 S = N = 3", "does not belong here"),
    ],
)  # fmt: skip
def test_a_formula_that_cannot_be_read_is_told_where_it_stopped(grade: Grade, answer: str, says: str) -> None:
    with pytest.raises(AnswerError, match=says):
        grade(answer)


def test_latency_needs_a_unit(grade: Grade) -> None:
    assert grade("2*(N-1)*(a + S/(N*B)) + S/R - S/(N*R)", TIME).correct
    assert "of another" not in grade("2*(N-1)*a", TIME).feedback[0]
    with pytest.raises(AnswerError, match="no value"):
        grade("2*(N-1)*(a + S/N)", TIME)


def edges(exercise: Expression, name: str, seed: int = 0) -> set[float]:
    return {point[name].value for point in exercise.points(seed)}


def test_no_symbol_beside_a_number_is_read_as_a_unit(catalog: Catalog) -> None:
    for exercise in catalog.by_id.values():
        if isinstance(exercise, Expression):
            for symbol in exercise.symbols:
                for text in (f"2/{symbol}", f"2 / {symbol}", f"2{symbol}", f"2 {symbol}", f"2*{symbol}"):
                    assert names_in(parse_expression(text, exercise.symbols)) == {symbol}, (exercise.id, text)


@each("answer", ["2**(ceil(log2(x)) - 1 - f)", "2^(round(log2(x)) - f)", "2^(floor(log2(x) - 1/2^30) - f)"])
def test_a_formula_that_is_wrong_at_an_edge_alone_is_wrong(grade: Grade, answer: str) -> None:
    assert not any(grade(answer, "precision/derive-the-spacing", seed).correct for seed in range(40))


def test_the_edges_of_every_symbol_are_tried(catalog: Catalog) -> None:
    exercises = [one for one in catalog.exercises if isinstance(one, Expression) and not one.sense]
    assert exercises
    for exercise in exercises:
        for name, symbol in exercise.symbols.items():
            low, high = (end.value for end in symbol.ends)
            tried = edges(exercise, name)
            assert {low, high} <= tried, (exercise.id, name)
            assert 1 in tried or not low <= 1 <= high, (exercise.id, name)
    assert {0.5**13, 1.0, 512.0} <= edges(catalog.exercise("precision/derive-the-spacing"), "x")  # type: ignore[arg-type]


def test_two_symbols_of_a_kind_meet_and_lie_both_ways(catalog: Catalog) -> None:
    exercise = catalog.exercise("tensor/derive-the-traffic")  # b from 1 to 8, T from 2 to 16
    assert isinstance(exercise, Expression)
    pairs = {(point["b"].value, point["T"].value) for point in exercise.points(3)}
    assert {(2, 2), (8, 8), (2, 8), (8, 2)} <= pairs


def test_every_point_is_of_this_world(catalog: Catalog) -> None:
    for name in ("memory/derive-stage-two", "accumulation/derive-the-share", "serving/derive-the-tensor-degree"):
        exercise = catalog.exercise(name)
        assert isinstance(exercise, Expression)
        for seed in range(20):
            points = exercise.points(seed)
            assert len(points) > 12
            assert all(evaluate(exercise.answer, point).value >= 1 for point in points), name
            for symbol in ("w", "g", "o"):
                assert all(float(point[symbol].value).is_integer() for point in points if symbol in point)


def test_a_mistake_without_a_value_at_some_point_is_told_all_the_same(
    catalog: Catalog, runner: Runner, loop: asyncio.AbstractEventLoop
) -> None:
    exercise = catalog.exercise("memory/derive-stage-two")
    for seed in (70019, 0):
        verdict = loop.run_until_complete(exercise.grade(seed, "P * o / (M - (w + g) * P)", runner))
        assert not verdict.correct
        assert verdict.mistake


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_the_counterexample_is_true_where_it_is_said(catalog: Catalog, grade: Grade, seed: int) -> None:
    exercise = catalog.exercise(VOLUME)
    assert isinstance(exercise, Expression)
    says = grade("S", seed=seed).feedback[0]
    names = next(one for one in exercise.points(seed) if evaluate("S", one) != evaluate(exercise.answer, one))
    where = ", ".join(f"{name} = {quantity}" for name, quantity in names.items())
    assert says.startswith(f"For {where} your formula gives ")


def test_every_text_of_the_file_has_its_place_in_it(catalog: Catalog) -> None:
    exercise = catalog.exercise(VOLUME)
    assert isinstance(exercise, Expression)
    places = dict(exercise.texts())
    assert {where[1]: text for where, text in places.items() if where[0] == "mistakes"} == {
        expression: mistake.says for expression, mistake in exercise.wrong.items()
    }
    assert {where[1:]: text for where, text in places.items() if where[0] == "symbols"} == {
        (name, "says"): symbol.says for name, symbol in exercise.symbols.items()
    }


def small_formula(**fields: object) -> Expression:
    """S bytes for each of N, times 3."""
    made = small(
        "expression",
        **{
            "answer": "3 * S * N",
            "unit": "B",
            "symbols": {"S": {"says": "Size", "range": ["1 MB", "4 GB"]}, "N": {"says": "Number", "range": [2, 10]}},
            "mistakes": {"S * N": "Three times.", "3 * S": {"says": "For each.", "score": 0.25}},
            **fields,
        },
    )
    assert isinstance(made, Expression)
    return made


@each(
    ("answer", "score", "says", "mistake"),
    [
        ("3*S*N", 1, "Right at every point that was tested.", ""),
        ("S*N", 0, "Three times.", mistake_key("Three times.")),
        ("3*S", 0.25, "For each.", mistake_key("For each.")),
        ("6*S*N", 0, "Your formula is always twice the right one.", ""),
        ("1.5*S*N", 0, "Your formula is always half the right one.", ""),
        ("12*S*N", 0, "Your formula is always 4 times the right one.", ""),
        ("-3*S*N", 0, "The magnitude is right, but the sign is wrong.", "sign"),
        ("3*N", 0, "This comes out as a plain number, but the answer is a value in B: multiply by something in B.", ""),
        (
            "3*S*N/(1 s)",
            0,
            "This comes out as a value in B/s, but the answer is a value in B: multiply by something in s.",
            "",
        ),
        ("3*S*N*(1 s)", 0, "This comes out as a value in B s, but the answer is a value in B: divide by something", ""),
        ("3*S*N+1 MB", 0, "For S = ", ""),
        ("3*S*N*sqrt(N-2)/sqrt(N-2)", 0, "For S = ", ""),
    ],
)
def test_a_formula_is_told_what_is_listed_then_its_unit_then_its_factor_then_where_it_is_wrong(
    answer: str, score: float, says: str, mistake: str
) -> None:
    verdict = graded(small_formula(), answer)
    assert (verdict.correct, verdict.score) == (score == 1, score)
    assert verdict.feedback[0].startswith(says)
    assert verdict.mistake == mistake
    assert verdict.feedback[1].startswith("Read as $")
    assert verdict.feedback[2:] == (("This is worth 25 % of the points.",) if score == 0.25 else ())
    assert ("has no value" in verdict.feedback[0]) == ("sqrt" in answer)


def test_a_formula_asks_for_its_symbols_with_their_units() -> None:
    made = small_formula()
    assert [(row.name, row.says, row.unit) for row in made.question(0).symbols] == [
        ("S", "Size", "B"),
        ("N", "Number", ""),
    ]
    assert made.question(0).unit == "B"
    assert (made.right_answer(0), made.telling(0)) == ("3 * S * N", {"3 * S * N"})
    assert made.reveal(0).endswith("$, typed `3 * S * N`")
    assert list(made.mistakes(0)) == [("S * N", "Three times."), ("3 * S", "For each.")]


@each(
    ("range_", "whole", "edges", "is_whole"),
    [
        ([2, 10], False, [2, 10, 4, 8], True),
        ([1, 16], False, [1, 16, 4], True),
        ([3, 3.5], False, [3, 3.5], False),
        ([0.5, 4], False, [0.5, 4, 1, 2], False),
        (["1 B", "4 B"], True, [1, 4, 2], True),
        (["1 B", "4 B"], False, [1, 4, 2], False),
    ],
)
def test_the_edges_of_a_symbol_are_its_ends_and_powers_of_two(
    range_: list[object], whole: bool, edges: list[float], is_whole: bool
) -> None:
    symbol = Symbol.model_validate({"says": "S", "range": range_, "whole": whole})
    assert sorted(edge.value for edge in symbol.edges) == sorted(edges)
    assert symbol.is_whole is is_whole
    source = random.Random(1)
    drawn = [symbol.at(source).value for _ in range(200)]
    low, high = min(edges), max(edges)
    assert low <= min(drawn) < max(drawn) <= high
    assert all(value == float(f"{value:.2g}") for value in drawn)
    assert all(value.is_integer() for value in map(float, drawn)) == is_whole
    small_ones = sum(value < (low * high) ** 0.5 for value in drawn)
    assert 50 < small_ones < 150 or is_whole, "as many below the geometric middle as above"


@each(
    ("fields", "says"),
    [
        ({}, []),
        ({"unit": "s"}, [(("unit",), "the answer is a value in B")]),
        ({"reference": "3 * S * N"}, []),
        ({"reference": "2 * S * N"}, [(("reference",), "does not equal the answer")]),
        (
            {"mistakes": {"S * N": "A.", "N * S": "B.", "S * 3 * N": "C."}},
            [
                (("mistakes", "N * S"), "has the same values as S * N"),
                (("mistakes", "S * 3 * N"), "has the same values as the answer"),
            ],
        ),
        (
            {"mistakes": {"S * N": "A.", "S": {"says": "B.", "when": "N > 2"}}},
            [(("mistakes", "S", "when"), "a formula is wrong for all symbols")],
        ),
        ({"sense": "answer < 0 B"}, [(("answer",), "no values of the symbols meet 'answer < 0 B'")]),
    ],
)
def test_the_proof_of_a_formula_compares_all_values(
    fields: dict[str, object], says: list[tuple[tuple[str, ...], str]]
) -> None:
    assert found(small_formula(**fields)) == says


@each("range_", [["4 GB", "1 MB"], ["1 MB", "1 MB"], [0, 4], [-1, 4], ["1 MB", "4 s"], [1, "4 GB"]])
def test_a_range_goes_up_from_above_0_in_one_unit(range_: list[object]) -> None:
    with pytest.raises(ValidationError, match="must go from a value above 0 to a larger one in the same unit"):
        small_formula(symbols={"S": {"says": "Size", "range": range_}, "N": {"says": "N", "range": [2, 10]}})


def test_only_points_of_this_world_are_tried() -> None:
    plain, made = small_formula(), small_formula(sense="S * N >= 1 GB")
    for seed in range(3):
        assert all(one["S"].value * one["N"].value >= 1e9 for one in made.points(seed))
        assert 12 < len(made.points(seed)) < len(plain.points(seed))


def test_all_symbols_are_at_their_least_together_and_at_their_most() -> None:
    tried = {(point["S"].value, point["N"].value) for point in small_formula().points(0)}
    assert {(1e6, 2), (4e9, 10)} <= tried
