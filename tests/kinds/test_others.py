import asyncio
from collections.abc import Callable

import pytest

from app.core.errors import AnswerError
from app.core.quotation import code_span
from app.course.content.catalog import Catalog
from app.course.kinds import Verdict
from app.course.kinds.base import Answer
from app.course.kinds.choice import Choice
from app.course.kinds.code.calls import python
from app.course.kinds.code.function import Function
from app.course.sandbox.runner import Runner
from app.site.markdown import inline_html
from tests.each import each

ORDER = "collectives/steps-of-a-ring"
BUG = "collectives/estimate-off-by-a-factor"
FUNCTION = "collectives/write-ring-time"
RIGHT = ["cut", "first", "pass", "own", "gather", "done"]
Loop = asyncio.AbstractEventLoop
Grade = Callable[..., Verdict]


@pytest.fixture
def grade(catalog: Catalog, runner: Runner, loop: Loop) -> Grade:
    def graded(name: str, answer: Answer, seed: int = 0) -> Verdict:
        return loop.run_until_complete(catalog.exercise(name).grade(seed, answer, runner))

    return graded


def test_options_are_shuffled_by_the_seed_alone(catalog: Catalog) -> None:
    exercise = catalog.exercise("collectives/ring-or-tree")
    orders = {tuple(o.key for o in exercise.question(s).options) for s in range(20)}  # type: ignore[union-attr]
    assert len(orders) > 5
    assert exercise.question(3) == exercise.question(3)


@pytest.mark.parametrize("answer", ["", [], "rings", ["ring", "tree"], {"a": "ring"}])
def test_no_choice_is_not_a_wrong_one(grade: Grade, answer: Answer) -> None:
    with pytest.raises(AnswerError):
        grade("collectives/ring-or-tree", answer)


def test_a_wrong_option_may_be_worth_a_share(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = catalog.exercise("collectives/ring-or-tree")
    assert isinstance(exercise, Choice)
    keys = [str(answer) for answer, _ in exercise.mistakes(0)]
    half = exercise.options[keys[0]].model_copy(update={"score": 0.5})
    exercise = exercise.model_copy(update={"options": {**exercise.options, keys[0]: half}})
    verdict = loop.run_until_complete(exercise.grade(0, keys[0], runner))
    assert (verdict.correct, verdict.score) == (False, 0.5)
    assert verdict.feedback[-1] == "This is worth 50 % of the points."
    right = loop.run_until_complete(exercise.grade(0, exercise.right_answer(0), runner))
    assert (right.score, len(right.feedback)) == (1, 1)


def test_an_order_is_credited_by_pairs(grade: Grade) -> None:
    assert grade(ORDER, RIGHT).score == 1
    swapped = grade(ORDER, ["cut", "first", "pass", "own", "done", "gather"])
    assert swapped.score == pytest.approx(14 / 15)  # one of fifteen pairs
    assert grade(ORDER, RIGHT[::-1]).score == 0


def test_a_stranger_is_told_apart(grade: Grade) -> None:
    verdict = grade(ORDER, [*RIGHT, "same"])
    assert not verdict.correct
    assert "(r + 1) mod N" in verdict.feedback[0]


def test_what_is_missing_is_counted(grade: Grade) -> None:
    assert "2 steps are missing." in grade(ORDER, RIGHT[:4]).feedback


@pytest.mark.parametrize("answer", [[], "cut", ["cut", "cut"], ["cot"]])
def test_what_is_no_order_is_unreadable(grade: Grade, answer: Answer) -> None:
    with pytest.raises(AnswerError):
        grade(ORDER, answer)


def test_places_in_a_form_make_an_order(catalog: Catalog) -> None:
    exercise = catalog.exercise(ORDER)
    form = {f"place.{key}": [str(2 * n)] for n, key in enumerate(RIGHT, 1)}
    assert exercise.answer_in(form) == RIGHT
    with pytest.raises(AnswerError, match="twice"):
        exercise.answer_in({"place.cut": ["1"], "place.own": ["1"]})


def test_a_shuffled_order_is_never_the_right_one(catalog: Catalog) -> None:
    exercise = catalog.exercise(ORDER)
    for seed in range(60):
        keys = [item.key for item in exercise.question(seed).items if item.key != "same"]  # type: ignore[union-attr]
        assert keys != RIGHT


def test_the_bug_depends_on_the_seed_and_only_its_line_is_right(grade: Grade, catalog: Catalog) -> None:
    exercise = catalog.exercise(BUG)
    lines = {exercise.right_answer(seed) for seed in range(20)}
    assert lines == {"3", "4", "6"}
    for seed in range(6):
        right = str(exercise.right_answer(seed))
        assert [str(n) for n in range(1, 7) if grade(BUG, str(n), seed).correct] == [right]


@pytest.mark.parametrize("answer", ["", "0", "7", "-1", "6.0", "six", "٦", "9" * 99])
def test_what_is_no_line_is_unreadable(grade: Grade, answer: str) -> None:
    with pytest.raises(AnswerError):
        grade(BUG, answer)


@pytest.mark.parametrize("answer", ["line 3", "Line 3", " 3 ", "line #3", "LINE3"])
def test_a_line_may_be_named_as_one_speaks_of_it(grade: Grade, answer: str) -> None:
    assert grade(BUG, answer) == grade(BUG, "3")


@pytest.mark.parametrize("answer", ["line", "line 99", "3 4", "line three"])
def test_words_without_a_line_are_unreadable(grade: Grade, answer: str) -> None:
    with pytest.raises(AnswerError):
        grade(BUG, answer)


HEAD = "def ring_allreduce_ms(size_gb, n, bw_gb_s, latency_us):\n    "
VALUE = "2 * (n - 1) * (size_gb / n / bw_gb_s * 1e3 + latency_us / 1e3)"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("while True: pass", "is there a loop that never ends?"),
        ("return 1 / 0", "Line 2: `ZeroDivisionError: division by zero`"),
        ("pass", "returned nothing: is a `return` missing?"),
        ("return 'x'", "a number, but returned a str"),
        ("return True", "a number, but returned a bool"),
        (f"return 2 * {VALUE}", "twice the right one"),
        ("return float('nan')", "but returned `nan`"),
        ("return " + "[" * 90 + "]" * 90, "nested too deeply"),
    ],
)
def test_a_wrong_function_hears_what_is_wrong(grade: Grade, body: str, says: str) -> None:
    verdict = grade(FUNCTION, HEAD + body)
    assert not verdict.correct
    assert any(says in sentence for sentence in verdict.feedback), verdict.feedback


def test_the_first_failing_call_is_shown_with_its_place(grade: Grade) -> None:
    verdict = grade(FUNCTION, HEAD + f"return {VALUE} if n != 1024 else 5")
    assert verdict.feedback[0].startswith("Call ")
    assert "of 41: `ring_allreduce_ms(" in verdict.feedback[0]
    assert 0 < verdict.score < 1


def test_every_value_of_every_argument_occurs_in_a_hidden_call(catalog: Catalog) -> None:
    exercise = catalog.exercise(FUNCTION)
    assert isinstance(exercise, Function)
    for seed in range(20):
        calls = exercise.calls("f", seed)
        for place, values in enumerate(exercise.arguments.values()):
            assert {call.arguments[place] for call in calls} == set(values)


def test_a_run_shows_what_was_printed_and_where_it_failed(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = catalog.exercise(FUNCTION)
    assert isinstance(exercise, Function)
    source = HEAD + f"print('n', n)\n    return {VALUE} if n == 8 else 1 / 0"
    trial = loop.run_until_complete(exercise.try_out(0, source, runner))
    assert [run.passed for run in trial.runs] == [True, False]
    assert trial.runs[0].printed == "n 8\n"
    assert trial.runs[1].line == 3
    broken = loop.run_until_complete(exercise.try_out(0, "def f(:", runner))
    assert broken.line == 1
    assert "SyntaxError" in broken.problem


@each("text", ["`", "``a`b``", "<b>", "a\nb", "*x*", "[x](javascript:1)"])
def test_a_learner_s_words_stay_code(text: str) -> None:
    html = inline_html(code_span(text))
    assert html.startswith("<code>")
    assert html.count("<") == 2


@each(
    ("value", "text"), [(2e9, "2e9"), (5e-06, "5e-6"), (70.07, "70.07"), (8, "8"), (8.0, "8.0"), ([2, 1e9], "[2, 1e9]")]
)
def test_arguments_are_written_as_a_person_writes_them(value: object, text: str) -> None:
    assert python(value) == text  # type: ignore[arg-type]
