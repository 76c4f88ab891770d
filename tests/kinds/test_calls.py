"""Calls of a function: how they are drawn and written, and what is said of what comes of them."""

import math
import random
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.core.errors import AnswerError, UnavailableError
from app.core.expressions import ExpressionError
from app.core.units import scale_of
from app.course.kinds.code.calls import (
    Argument,
    TrialCall,
    a_type,
    as_argument,
    call_numbers,
    column,
    function_in,
    in_line,
    outcome_sentence,
    plain_argument,
    python,
    refuse_lost,
    returns_nothing,
    round_result,
    says_of_call,
    source_in,
)
from app.course.kinds.code.function import (
    Function,
    HiddenCalls,
    common_mistake_in,
    passes,
    same_results,
    trial_runs,
    was_stopped,
)
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, Plain, Reason, StoppedRun
from app.site.markdown import inline_html
from tests.each import each
from tests.kinds.small import small

NONE, ONE, TIME = CallReturned(None), CallReturned(1), StoppedRun("time")
BROKEN = CallRaised("ValueError", "no", 3)


def call(expected: Plain, text: str = "f(2)") -> TrialCall:
    return TrialCall((2,), text, expected)


@each("answer", ["", "  \n\t"])
def test_a_program_of_blanks_is_none(answer: str) -> None:
    with pytest.raises(AnswerError, match="the answer is empty"):
        source_in(answer)
    assert source_in(" x ") == " x "


def test_the_first_function_of_a_program_is_its_name() -> None:
    assert function_in("import math\nclass A: pass\ndef first(x): ...\ndef second(x): ...\n") == "first"
    with pytest.raises(ValueError, match="defines no function"):
        function_in("x = 1")
    with pytest.raises(ValueError, match=r"line 2 of the code is not valid Python: '\(' was never closed"):
        function_in("x = 1\ny = (")


@each(
    ("value", "text"),
    [
        (2e9, "2e9"),
        (2.5e10, "2.5e10"),
        (1e100, "1e100"),
        (5e-06, "5e-6"),
        (5e-10, "5e-10"),
        (70.07, "70.07"),
        (0.1234567, "0.1234567"),
        (-1.0, "-1.0"),
        (100000.0, "100000.0"),
        (8, "8"),
        (True, "True"),
        ("a", "'a'"),
        (math.inf, "inf"),
        ([2, [1e9]], "[2, [1e9]]"),
    ],
)
def test_an_argument_is_written_so_that_it_is_read_back(value: Plain, text: str) -> None:
    assert python(value) == text
    assert eval(text, {"inf": math.inf}) == value


@each(
    ("value", "text"),
    [
        (64.0, "64"),
        (0.12345678, "0.123457"),
        (123456.7, "123457"),
        (1234567, "1234567"),
        (2.5, "2.5"),
        (-2e9, "-2e9"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (True, "True"),
        (None, "None"),
        ([1.0, (2.0,), (3.0, 4)], "[1, (2,), (3, 4)]"),
        ((), "()"),
        ("x" * 78, f"'{'x' * 78}'"),
        ("x" * 79, f"'{'x' * 78}…"),
    ],
)
def test_a_result_has_six_figures_and_80_characters(value: Plain, text: str) -> None:
    assert round_result(value) == text
    assert len(text) <= 80


def test_a_number_too_long_to_be_written_is_described() -> None:
    huge = 1 << 79_000
    assert round_result(huge) == "a number of more than 4,300 digits"
    assert round_result([huge]) == "[a number of more than 4,300 digits]"
    assert round_result(({huge},)) == "(a set with a number of more than 4,300 digits,)"
    assert round_result({1: [huge]}) == "a dict with a number of more than 4,300 digits"


def test_a_type_has_its_article() -> None:
    values: list[Plain] = [1, 1.5, "x", [1], True, None]
    assert [a_type(value) for value in values] == ["an int", "a float", "a str", "a list", "a bool", "a NoneType"]


def test_every_value_of_a_column_comes_before_one_comes_again() -> None:
    values: list[Argument] = [1, 2, 3]
    drawn = column(random.Random(1), values, 31)
    rounds = [drawn[start : start + 3] for start in range(0, 31, 3)]
    assert {frozenset(map(str, one)) for one in rounds[:10]} == {frozenset("123")}
    assert len({str(one) for one in rounds[:10]}) > 2
    assert [len(rounds[-1]), len(column(random.Random(1), values, 3))] == [1, 3]


@each(
    ("value", "plain", "numbers"),
    [
        ("8 KB", 8000.0, {"x": 8000.0}),
        ("'8 KB'", "8 KB", {}),
        ("''", "", {}),
        (3, 3, {"x": 3.0}),
        (True, True, {"x": 1.0}),
        ([1, ["2 ms", "'a'"]], [1, [0.002, "a"]], {"x_0": 1.0, "x_1_0": 0.002}),
    ],
)
def test_a_text_is_a_quantity_and_in_quotes_itself(value: Argument, plain: Plain, numbers: dict[str, float]) -> None:
    assert plain_argument(value) == plain
    assert type(plain_argument(value)) is type(plain)
    assert {name: quantity.value for name, quantity in call_numbers("x", value)} == numbers
    assert plain_argument(as_argument(plain)) == plain


def test_what_is_no_argument_cannot_be_passed() -> None:
    values: list[Plain] = [None, (1,), {1: 2}]
    for value in values:
        with pytest.raises(TypeError, match="cannot be an argument"):
            as_argument(value)
    with pytest.raises(ExpressionError):
        plain_argument("'")


def test_an_argument_is_a_list_of_lists_of_lists_with_texts_and_no_deeper() -> None:
    reads = TypeAdapter[Argument](Argument)
    rows = reads.validate_python([[[7, "'all_gather'", "8 KB", True]], []])
    assert plain_argument(rows) == [[[7, "all_gather", 8000.0, True]], []]
    assert python(plain_argument(rows)) == "[[[7, 'all_gather', 8000.0, True]], []]"
    with pytest.raises(ValidationError):
        reads.validate_python([[[[7]]]])


@each(
    ("expected", "outcomes", "nothing"),
    [
        ([1, 2], [NONE, NONE], True),
        ([1, None], [NONE, NONE], False),
        ([1, 2], [NONE, ONE], False),
        ([1, 2], [NONE, BROKEN], False),
    ],
)
def test_a_return_is_missing_if_none_is_all_that_comes_and_never_right(
    expected: list[Plain], outcomes: list[Outcome], nothing: bool
) -> None:
    assert returns_nothing([call(one) for one in expected], outcomes) is nothing


@each(
    ("expected", "outcome", "says"),
    [
        (8.0, CallReturned(9.0), "`f(2)` should return **8** but returned `9`."),
        (8.0, NONE, "`f(2)` should return **8** but returned `None`."),
        (None, CallReturned(1), "`f(2)` should return **None** but returned `1`."),
        (8.0, CallReturned("8"), "`f(2)` should return **8**, a number, but returned a str: `'8'`."),
        (8, CallReturned(True), "`f(2)` should return **8**, a number, but returned a bool: `True`."),
        (8, CallReturned([8]), "`f(2)` should return **8**, a number, but returned a list: `[8]`."),
        ("a", CallReturned(1), "`f(2)` should return **'a'** but returned `1`."),
        ([1, 2], CallReturned(1), "`f(2)` should return **[1, 2]**, 2 values, but returned an int: `1`."),
        ((1, 2), CallReturned([1, 3]), "`f(2)` should return **(1, 2)** but returned `[1, 3]`."),
        (
            8.12345,
            CallReturned(8.12),
            "`f(2)` should return **8.12345** but returned `8.12`, which is rounded: return it unrounded.",
        ),
        (8.0, BROKEN, "`f(2)` should return **8**. Line 3: `ValueError: no`"),
        (8.0, TIME, "`f(2)` should return **8**. It did not finish within the time limit: is there a loop that never"),
    ],
)
def test_what_is_wrong_with_a_call_is_said(expected: Plain, outcome: Outcome, says: str) -> None:
    assert says_of_call(call(expected), outcome).startswith(says)


@each(
    ("value", "right", "rounded"),
    [
        (3.142, 3.14159265, True),
        (3.14, 3.14159265, True),
        (3.1, 3.14159265, False),
        (3.143, 3.14159265, False),
        (3.0, 3.14159265, False),
        (1234.6, 1234.56789, True),
        (1230.0, 1234.56789, False),
        (1235, 1234.56789, True),
        ([1.0, 3.142], [1.0, 3.14159265], True),
        ([2.0, 3.142], [1.0, 3.14159265], False),
        ([3.142], [3.14159265, 1.0], False),
        (math.inf, 3.14159265, False),
        ([True, 3.142], [1.0, 3.14159265], False),
    ],
)
def test_rounded_is_what_has_fewer_figures_and_is_right_to_a_tenth_of_a_percent(
    value: Plain, right: Plain, rounded: bool
) -> None:
    assert ("rounded" in says_of_call(call(right), CallReturned(value))) is rounded


def test_what_is_secret_is_not_said() -> None:
    assert says_of_call(call(8), CallReturned(9), secret=True) == "`f(2)` should not return `9`: work it out by hand."
    assert says_of_call(call(8), BROKEN, secret=True) == "`f(2)`: Line 3: `ValueError: no`"
    assert says_of_call(call(8), NONE, secret=True, nothing=True) == "`f(2)` returned nothing: is a `return` missing?"
    assert "should return **8** but returned nothing" in says_of_call(call(8), NONE, nothing=True)


@each(
    ("outcome", "says", "line"),
    [
        (CallRaised("ValueError", "", 2), "Line 2: `ValueError`", 2),
        (CallRaised("ValueError", "no", None), "`ValueError: no`", None),
        (CallRaised("Missing", "no function called f is defined", None), "No function called `f` is defined.", None),
        (CallRaised("Missing", "no function called f is defined!", 1), "Line 1: `Missing: no function called f", 1),
        (CallRaised("Other", "no function called f is defined", 1), "Line 1: `Other: no function called f", 1),
        (StoppedRun("memory"), "It needed more memory than is available.", None),
        (StoppedRun("stack"), "It recursed too deeply", None),
        (StoppedRun("too large"), "What it printed or returned is too large.", None),
        (StoppedRun("refused"), "It tried something that is not allowed here.", None),
        (ONE, "It returned a value.", None),
    ],
)
def test_what_happened_is_one_sentence(outcome: Outcome, says: str, line: int | None) -> None:
    assert outcome_sentence(outcome).startswith(says)
    assert in_line(outcome) == line


def test_a_learner_s_exception_is_not_our_sentence() -> None:
    message = "[click](https://example.org/) $\\nonsense{1}$ ![x](https://example.org/x.png)"
    html = inline_html(outcome_sentence(CallRaised("Missing", message, 2)))
    assert "<a" not in html
    assert "<img" not in html


HIDDEN = HiddenCalls((call(1, "f(1)"), call(2, "f(2)")), (call(3, "f(3)"),))


def test_the_calls_of_every_seed_come_last_and_keep_their_results() -> None:
    assert [one.expected for one in HIDDEN.calls] == [1, 2, 3]
    wrong = [CallReturned(9)] * 3
    assert HIDDEN.says_of(1, wrong) == "Call 2 of 3: `f(2)` should return **2** but returned `9`."
    assert HIDDEN.says_of(2, wrong) == "Call 3 of 3: `f(3)` should not return `9`: work it out by hand."
    assert HIDDEN.says_of(1, [NONE] * 3).endswith("**2** but returned nothing: is a `return` missing?")
    assert HIDDEN.says_of(2, [NONE] * 3) == "Call 3 of 3: `f(3)` returned nothing: is a `return` missing?"


def test_a_call_passes_with_the_right_value_alone() -> None:
    assert passes(call(2.0), CallReturned(2.0000001))
    assert not any(passes(call(None), one) for one in (BROKEN, TIME))
    assert not passes(call(2.0), CallReturned(2.1))


def test_each_example_has_what_came_of_it() -> None:
    calls = [call(1.0), call(2.0), call(3.0), call(4.0)]
    outcomes: list[Outcome] = [CallReturned(1.0, "a\nb"), CallReturned(5.0), BROKEN, StoppedRun("time", "c")]
    runs = trial_runs(calls, outcomes)
    assert [(run.passed, run.got, run.line, run.expected) for run in runs] == [
        (True, "1", None, "1"),
        (False, "5", None, "2"),
        (False, "ValueError", 3, "3"),
        (False, "nothing", None, "4"),
    ]
    assert runs[0].says == ""
    assert runs[1].says == "`f(2)` should return **2** but returned `5`."
    assert [run.printed for run in runs] == ["a\nb", "", "", "c"]
    assert len(trial_runs(calls, outcomes[:2])) == 2
    assert "is a `return` missing?" in trial_runs(calls, [NONE] * 4)[0].says


@each(
    ("some", "others", "same"),
    [
        ([ONE, ONE], [ONE, CallReturned(1.0)], True),
        ([ONE], [ONE, ONE], False),
        ([ONE, ONE], [ONE, CallReturned(2)], False),
        ([ONE, BROKEN], [ONE, CallRaised("ValueError", "other words", 9)], True),
        ([ONE, BROKEN], [ONE, CallRaised("TypeError", "no", 3)], False),
        ([ONE, BROKEN], [ONE, ONE], False),
        ([ONE, TIME], [ONE, TIME], False),
        ([BROKEN], [BROKEN], False),
        ([], [], True),
    ],
)
def test_programs_are_the_same_where_all_results_are_and_there_is_one(
    some: list[Outcome], others: list[Outcome], same: bool
) -> None:
    assert same_results(some, others) is same


@each(
    ("body", "outcomes", "stopped"),
    [(None, (ONE, TIME), True), (StoppedRun("memory"), (), True), (None, (ONE, BROKEN), False), (BROKEN, (), False)],
)
def test_a_run_is_stopped_by_a_limit_and_not_by_an_error(
    body: CallRaised | StoppedRun | None, outcomes: tuple[Outcome, ...], stopped: bool
) -> None:
    assert was_stopped(Execution(body, "", outcomes, 1.0)) is stopped


@each(("reason", "says"), [("lost", "lost this run"), ("busy", "too busy to run this program"), ("time", "")])
@each("in_body", [True, False])
def test_a_run_that_was_lost_says_nothing_about_the_program(reason: Reason, says: str, in_body: bool) -> None:
    stopped = StoppedRun(reason)
    report = Execution(stopped, "", (), 1.0) if in_body else Execution(None, "", (ONE, stopped), 1.0)
    if says:
        with pytest.raises(UnavailableError, match=says):
            refuse_lost(report)
    else:
        refuse_lost(report)


@each(
    ("returned", "says"),
    [
        ([4.0, 8.0], "twice the right one"),
        ([4.0, 8.1], ""),
        ([4.0, 8.000001], "twice the right one"),
        ([2.0, 4.0], ""),
        ([4.0, "x"], "twice the right one"),
        ([4, True], "twice the right one"),
        ([0.0, 0.0], ""),
        ([math.inf, math.inf], ""),
        (["x", "y"], ""),
    ],
)
def test_a_factor_is_named_if_every_number_is_off_by_it(returned: list[Plain], says: str) -> None:
    calls = [call(2.0), call(4.0), call(0.0)]
    found = common_mistake_in(calls, [CallReturned(one) for one in [*returned, 3.0]], scale_of("s"))
    assert says in found
    assert bool(says) == bool(found)


def function(**fields: Any) -> Function:
    made = small(
        "function",
        **{
            "reference": "2 * n * size",
            "unit": "KB",
            "arguments": {"n": [1, 2, 3], "size": ["1 KB", "4 KB"]},
            "starter": "def twice(n, size):\n    ...\n",
            "right": "def twice(n, size):\n    return 2 * n * size / 1e3\n",
            "examples": [[2, "1 KB"]],
            "wrong": [{"code": "def twice(n, size):\n    return n * size / 1e3\n", "says": "That is once."}],
            **fields,
        },
    )
    assert isinstance(made, Function)
    return made


def test_the_reference_says_what_a_call_returns_in_the_unit_that_is_asked_for() -> None:
    made = function().call("twice", [3, "4 KB"])
    assert made == TrialCall((3, 4000.0), "twice(3, 4000.0)", 24.0)
    assert function(unit="").call("twice", [3, "4 KB"]).expected == 24_000.0
    whole = function(result="int").call("twice", [3, "4 KB"]).expected
    assert (whole, type(whole)) == (24, int)
    with pytest.raises(ExpressionError, match="should give a whole number, but gives 24.5"):
        function(result="int", reference="2 * n * size + 500 B").call("twice", [3, "4 KB"])


def test_each_value_is_in_a_drawn_call_and_no_call_comes_twice() -> None:
    made = function(where="n * 1 KB <= 2 * size")
    for seed in range(5):
        calls = made.calls("twice", seed)
        assert len({one.text for one in calls}) == len(calls) <= 5
        assert {one.arguments[1] for one in calls} == {1000.0, 4000.0}
        assert (3, 1000.0) not in {one.arguments for one in calls}
    many = function(arguments={"n": list(range(1, 21)), "size": ["1 KB"]})
    assert {one.arguments[0] for one in many.calls("twice", 0)} == set(range(1, 21))
    assert len({tuple(one.text for one in many.calls("twice", seed)) for seed in range(5)}) == 5


def test_conditions_know_the_length_of_a_list_and_its_numbers() -> None:
    made = function(
        reference="x_0 * n",
        unit="",
        arguments={"x": [[1, 2], [3]], "n": [1]},
        starter="def twice(x, n):\n    ...\n",
        examples=[[[1, 2], 1]],
        where="10 * x_length + x_0 + n < 24",
    )
    assert made.makes_sense([[1, 2], 2])
    assert not made.makes_sense([[1, 2], 3])
    assert not made.makes_sense([[2, 2], 2])
    assert made.makes_sense([[9], 4])
