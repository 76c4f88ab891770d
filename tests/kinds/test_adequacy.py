"""Nearly right programs, the arguments that tell them apart, and a function that is graded with them."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from app.core.errors import UnavailableError
from app.course.kinds.base import Finding, mistake_key
from app.course.kinds.code.adequacy import Adequacy, Contest, sensible
from app.course.kinds.code.argument_classes import ArgumentClasses, ArgumentKind, find_unmet, read_kinds
from app.course.kinds.code.calls import Argument
from app.course.kinds.code.mutants import AlteredProgram, alterations, careless_programs
from app.course.sandbox.process import Execution, Plain, StoppedRun
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from tests.each import each
from tests.kinds.small import Here
from tests.kinds.test_calls import function

HERE = Here()


def test_changed_programs_are_of_every_sort() -> None:
    program = (
        "def f(a, b):\n    s, n = 0, 1\n    for x in range(0, a, 2):\n        if x <= b:\n"
        "            continue\n        s += max(x, b) / 2\n    row = [a + b, a * (b + 1), a * b + 1]\n"
        "    if (row[1], row[2]) == (0, row[0]):\n        return row\n    return [s, n]\n"
    )
    changed = {one.source for one in alterations(program)}
    for part in (
        "if x < b:",
        "if True:",
        "break",
        "s -= ",
        "min(x, b)",
        "max(x, b) // 2",
        "s, n = (0, n)",
        "range(0, a // 2 * 2, 2)",
        "return [s]",
        "list(range(0, a, 2))[:-1]",
        "max(a, b)",
        "int(max(x, b) / 2)",
        "2 / max(x, b)",
        "max(x, b) / 3",
        "(row[1], row[2], row[0])",
        "a * (1 + b)",
        "a * b + 1",
        "a * (b + 1)",
    ):
        assert any(part in source for source in changed), part
    assert all(compile(source, "f", "exec") for source in changed)


def test_a_product_that_is_compared_is_divided_in_every_way() -> None:
    changed = {one.now for one in alterations("def f(a, b, c, n):\n    return a * b * c == n\n")}
    assert {"n // a == b * c", "n // (a * b) == c", "n // (b * c) == a", "n // c == a * b"} <= changed
    changed = {one.now for one in alterations("def f(a, b, n):\n    return n == (a + 1) * b\n")}
    assert {"n // (a + 1) == b", "n // b == a + 1"} <= changed


def test_careless_programs_read_less_than_they_are_given() -> None:
    right = "def f(values, n):\n    return [sum(values) + n / 3, len(values)]\n"
    long: list[Plain] = [1.5] * 13
    short: list[Plain] = [1.5] * 3
    found: dict[str, list[object]] = {}
    for one in careless_programs(right, "f", [[long, short], [2, 3.5, 9]]):
        names: dict[str, Any] = {}
        exec(one.source, names)
        found[str(one)] = [names["f"](*given) for given in ((long, 3.5), (short, 9), (short, 2))]
    called = [[19.5 + 3.5 / 3, 13], [7.5, 3], [4.5 + 2 / 3, 3]]
    assert found == {
        "the result to 6 decimals": [[20.666667, 13], [7.5, 3], [5.166667, 3]],
        "lists cut to 4": [[6 + 3.5 / 3, 4], *called[1:]],
        "lists cut to 8": [[12 + 3.5 / 3, 8], *called[1:]],
        "lists cut to 12": [[18 + 3.5 / 3, 12], *called[1:]],
        "argument 0 stored without": called,
        "argument 1 capped": [called[0], [4.5 + 3.5 / 3, 3], called[2]],
        "argument 1 whole": [[20.5, 13], *called[1:]],
        "argument 1 stored without": [*called[:2], called[1]],
    }
    assert {str(one) for one in careless_programs(right, "f", [[3]])} == {"the result to 6 decimals"}
    assert "argument 0 capped" in map(str, careless_programs(right, "f", [[3, 4]]))


def kind_of(takes: str, given: Sequence[Argument]) -> ArgumentKind:
    (kind,) = read_kinds({"x": takes}, {"x": given})
    return kind


@each(
    ("takes", "value", "classes"),
    [
        ("degree", 500, {"is another large number"}), ("degree", 501, {"is another large number", "is above 500"}),
        ("count", 512, {"is a larger power of two", "is above 500"}),
        ("positive", 0.001, {"is below 1"}), ("positive", 0.0009, {"is below 1", "is tiny"}),
        ("positive", 1000, {"is above 1"}), ("amount", 1001, {"is above 1", "is huge"}),
        ("amount", 0.5, {"is below 1"}), ("amount", 2.5, {"is above 1", "is not whole"}),
        ("probability", 0.99, {"is above a half"}), ("probability", 0.991, {"is nearly 1"}), ("probability", 1, {"is 1"}),
        ("list of real", [0.0009, -0.0001], {"has two", "is tiny"}), ("list of real", [0.001, 0.5], {"has two"}),
        ("list of real", [0.001, 0.0001], {"has two"}), ("list of real", [99, 100], {"has two"}),
        ("list of real", [100, 101], {"has two", "lies close together"}), ("list of real", [100, 102], {"has two"}),
        ("list of count", [1], {"has one"}), ("rows", [[1]] * 12, {"has more than 4", "is tall"}),
        ("rows", [[1]] * 13, {"has more than 4", "has more than 12", "is tall"}),
    ],
)  # fmt: skip
def test_an_argument_belongs_to_its_classes(takes: str, value: Argument, classes: set[str]) -> None:
    assert set(kind_of(takes, [value, 1] if isinstance(value, int | float) else []).classes(value)) == classes


def test_two_wrong_programs_that_no_call_of_every_seed_tells_apart_are_named() -> None:
    late = "def f(n):\n    return n + (2 if n > 5 else 1)\n"
    contest = Contest(
        entry="f",
        right="def f(n):\n    return n\n",
        wrong=["def f(n):\n    return n + 1\n", late],
        arguments={"n": [1, 2, 6, 7]},
        always=[[1], [2]],
        places=range(4),
        floats=False,
    )
    says = [one.says for one in asyncio.run(contest.findings(HERE))]
    assert says[0] == "no call made at every seed tells wrong program 1 from 0"
    told = replace(contest, always=[[1], [6]])
    assert not any("wrong program" in one.says for one in asyncio.run(told.findings(HERE)))


STEP = "def f(n):\n    return 1 if n > 3 else 0\n"


def contest(always: Sequence[Sequence[Argument]], **fields: Any) -> Contest:
    """Programs of which the right one is 1 beyond 3."""
    made = {"right": STEP, "wrong": ["def f(n):\n    return 0\n"], "arguments": {"n": [2, 3, 4, 5]}, **fields}
    places = range(len(made["arguments"]["n"]))
    return Contest(**{"entry": "f", "always": always, "places": places, "floats": False, **made})


def findings(of: Contest) -> list[Finding]:
    return asyncio.run(of.findings(HERE))


def test_the_share_is_of_the_programs_that_differ() -> None:
    survivor = AlteredProgram(1, "a", "b", "")
    assert Adequacy(4, (survivor,)).share == 0.75
    assert Adequacy(0, ()).share == 1.0
    assert str(survivor) == "line 1, `b` for `a`"


def test_a_change_that_only_another_call_reveals_survives() -> None:
    def survivors(*always: int) -> set[str]:
        measured = asyncio.run(contest([[n] for n in always]).measured(HERE))
        assert len(measured.survivors) < measured.differing
        return set(map(str, measured.survivors))

    assert {"line 2, `n >= 3` for `n > 3`", "line 2, `4` for `3`"} <= survivors(2, 5)
    assert "line 2, `n < 3` for `n > 3`" not in survivors(2, 5)
    assert survivors(3, 4, 5, 2) == set()
    assert "line 2, `n >= 3` for `n > 3`" not in survivors(2, 3)


def test_a_program_that_no_arguments_reveal_or_that_fails_is_found_first() -> None:
    fails = "def f(n):\n    return 1 // (n - 4)\n"
    (found,) = findings(contest([[2]], right=fails))
    assert (found.where, found.says) == (("right",), "the right program fails on f(4)")
    (found,) = findings(contest([[2], [4]], wrong=["def f(n):\n    return 0\n", "def f(n):\n    return int(n >= 4)\n"]))
    assert (found.where, found.says[:38]) == (("wrong", 1), "is right for every combination of the ")
    (found,) = findings(contest([[2], [4]], wrong_too=["def f(n):\n    return int(n > 3.5)\n"]))
    assert found.where == ("wrong_too", 0)
    (found,) = findings(contest([[2], [4]], right_too=[STEP, STEP.replace("3", "4")]))
    assert (found.where, found.says) == (("right_too", 1), "differs from the right program on f(4)")


def test_calls_that_tell_programs_apart_are_offered_and_enough() -> None:
    tame = contest([[2]], wrong_too=["def f(n):\n    return int(n > 4)\n"])
    found = findings(tame)
    assert found[0].says == (
        "no call made at every seed tells wrong program 0 from the right one; wrong_too 0 from the right program"
    )
    assert "programs with one small change pass every call made at all seeds: line 2, " in found[1].says
    assert found[1].says.count(" for ") <= 3
    rows = json.loads(found[0].cure.removeprefix("add to always: "))
    assert findings(replace(tame, always=[[2], *rows])) == []
    assert findings(contest([[2], [3], [4], [5]])) == []


def test_a_search_that_does_not_run_is_no_finding() -> None:
    with pytest.raises(UnavailableError, match="did not run a search"):
        findings(contest([[2]], right="def f(n:\n"))


def test_a_comparison_at_whose_boundary_no_call_is_has_a_call_that_makes_sense() -> None:
    def boundaries(*always: int, least: int = 0, right: str = STEP) -> list[Finding]:
        made = contest([[n] for n in always], right=right)
        return asyncio.run(made.boundary_findings(lambda row: int(str(row[0])) >= least, HERE))

    (found,) = boundaries(2, 5)
    assert (found.where, found.cure) == (("always",), "add to always: [3]")
    assert found.says == "no call made at every seed is at the boundary of `n > 3` in line 2"
    assert boundaries(3) == []
    assert boundaries(2, 5, least=4) == []
    assert boundaries(2, right="def f(n):\n    return n == 3\n") == []
    (found,) = boundaries(7, right="def f(n):\n    return n // 4\n")
    assert (found.says[-22:], found.cure) == ("of `n // 4` in line 2", "add to always: [4]") or "`n // 4`" in found.says


def test_of_many_combinations_a_few_thousand_are_looked_at() -> None:
    few: dict[str, list[Argument]] = {"a": list(range(40)), "b": list(range(50))}
    assert sensible(few, lambda _: True) == list(range(2000))
    assert sensible(few, lambda row: row == (1, 7)) == [57]
    many: dict[str, list[Argument]] = {"a": list(range(40)), "b": list(range(51))}
    places = sensible(many, lambda _: True)
    assert places == sorted(set(places)) == sensible(many, lambda _: True)
    assert 1000 < len(places) <= 2000
    assert max(places) > 1900


def classes(takes: dict[str, str], given: dict[str, list[Argument]], least: float = -1e9) -> ArgumentClasses:
    return ArgumentClasses(read_kinds(takes, given), lambda row: all(_number(one) >= least for one in row))


def _number(value: Argument) -> float:
    return value if isinstance(value, int | float) else 0.0


def test_arguments_of_one_kind_are_compared() -> None:
    two = classes({"a": "degree", "b": "degree"}, {"a": [4], "b": [4]})
    assert two.classes_of([4, 4]) >= {"a is equal to b", "a is a larger power of two"}
    assert {"a is above b", "a is divisible by b"} <= two.classes_of([8, 4])
    assert {"a is above b", "a is not divisible by b"} <= two.classes_of([9, 4])
    assert {"a is below b"} == {one for one in two.classes_of([4, 8]) if one.endswith(" b")}
    assert not any("divisible" in one for one in two.classes_of([4, 1]))
    assert two.demanded()[-3:] == ["a is equal to b", "a is below b", "a is above b"]
    other = classes({"a": "degree", "b": "count"}, {"a": [4], "b": [4]})
    assert not any(one.endswith(" b") for one in [*other.classes_of([4, 4]), *other.demanded()])


def test_the_calls_that_are_chosen_meet_every_class_that_makes_sense() -> None:
    one = classes({"n": "degree"}, {"n": [4]})
    assert len(one.choose_calls([])) == 6  # 700 is large in two ways
    assert find_unmet(one, one.choose_calls([])) == ([], [])
    assert find_unmet(one, [[4]]) == (
        ["n is 1", "n is 2", "n is 3", "n is 6", "n is another large number", "n is above 500"],
        [],
    )
    assert find_unmet(classes({"n": "degree"}, {"n": [4]}, least=2), [[4]])[1] == ["n is 1"]
    assert find_unmet(one, [[4], *one.choose_calls([[4]])]) == ([], [])


def test_a_list_is_as_long_as_another_one() -> None:
    lists = classes({"a": "list of count", "b": "list of count as long as a"}, {"a": [[1, 2]], "b": [[3, 4]]})
    assert lists.fits([[1], [2]])
    assert not lists.fits([[1], [2, 3]])
    assert all(len(a) == len(b) for a, b in lists.pool() if isinstance(a, list) and isinstance(b, list))
    assert {len(a) for a, _ in lists.pool() if isinstance(a, list)} >= {1, 2, 3, 4, 16}


def graded_here(made: Any, source: str, seed: int = 0) -> Any:
    return asyncio.run(made.grade(seed, source, HERE))


ONCE = "def twice(n, size):\n    return n * size / 1e3\n"


def test_a_function_is_graded_by_the_share_of_its_calls_and_told_the_first_that_fails() -> None:
    made = function(always=[[1, "1 KB"]])
    calls = len(asyncio.run(made.hidden_calls(0, HERE)).calls)
    right = graded_here(made, made.right)
    assert (right.correct, right.score, right.feedback) == (True, 1.0, (f"All {calls} calls return the right value.",))
    wrong = graded_here(made, ONCE)
    assert (wrong.correct, wrong.score) == (False, 0.0)
    assert wrong.feedback == (
        f"Call 1 of {calls}: `twice(2, 1000.0)` should return **4** but returned `2`.",
        "That is once.",
    )
    assert wrong.mistake == mistake_key("That is once.")
    thrice = graded_here(made, ONCE.replace("n *", "6 * n *"))
    assert (thrice.feedback[1:], thrice.mistake) != (("That is once.",), mistake_key("That is once."))
    broken = graded_here(made, ONCE.replace("/ 1e3", "* 2 / 1e3 if n < 3 else 1 / 0"))
    assert 0 < broken.score < 1
    assert "ZeroDivisionError" in broken.feedback[0]
    assert graded_here(made, "def twice(:").feedback == ("Line 1: `SyntaxError: invalid syntax`",)


def test_the_calls_of_every_seed_are_secret_also_where_they_are_drawn() -> None:
    made = function(always=[[1, "1 KB"], [2, "1 KB"]])
    hidden = asyncio.run(made.hidden_calls(0, HERE))
    assert [one.text for one in hidden.always] == ["twice(1, 1000.0)", "twice(2, 1000.0)"]
    assert not {one.text for one in hidden.always} & {one.text for one in hidden.drawn}
    assert len({one.text for one in hidden.drawn}) == len(hidden.drawn)


def test_without_a_reference_the_right_program_says_what_is_right() -> None:
    made = function(reference="", unit="", examples=[{"call": [2, "1 KB"], "returns": 4}], always=[[1, "4 KB"]])
    assert [one.expected for one in made.visible_calls()] == [4]
    hidden = asyncio.run(made.hidden_calls(0, HERE))
    assert all(one.expected == 2 * one.arguments[0] * one.arguments[1] / 1e3 for one in hidden.calls)  # type: ignore[operator]
    assert graded_here(made, made.right).correct
    assert not graded_here(made, ONCE).correct
    fails = made.model_copy(update={"right": ONCE.replace("n *", "1 / (n - 1) *")})
    fails._results.clear()
    fails._expected.clear()
    with pytest.raises(UnavailableError, match="expected results could not be computed"):
        graded_here(fails, ONCE)


def test_the_examples_are_tried_without_a_verdict() -> None:
    made = function(examples=[[2, "1 KB"], [3, "1 KB"]])
    trial = asyncio.run(
        made.try_out(0, "print('body')\n" + ONCE.replace("return", "print(n)\n    return 4 if n == 2 else"), HERE)
    )
    assert (trial.problem, trial.line, trial.printed) == ("", None, "body\n")
    assert [(run.passed, run.printed, run.expected) for run in trial.runs] == [(True, "2\n", "4"), (False, "3\n", "6")]
    broken = asyncio.run(made.try_out(0, "\n1 / 0\n", HERE))
    assert (broken.line, broken.runs) == (2, ())
    assert "ZeroDivisionError" in broken.problem


@each(
    ("fields", "says"),
    [
        ({"examples": [[2]]}, "the example .* does not give n, size"),
        ({"always": [[2, "1 KB", 3]]}, "the call .* does not give n, size"),
        ({"examples": [{"call": [2, "1 KB"], "returns": 4}]}, "needs no `returns`"),
        ({"reference": ""}, "needs `call` and `returns`"),
        ({"takes": {"m": "degree"}}, "m is not an argument"),
        ({"takes": {"n": "decree"}}, "is none of degree"),
        ({"takes": {"n": "list of count as long as m"}}, "m is not an argument"),
        ({"starter": "x = 1"}, "defines no function"),
    ],
)
def test_a_function_that_cannot_be_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        function(**fields)


def test_only_programs_that_run_and_differ_somewhere_are_counted() -> None:
    """Counted here by running every changed program on every argument."""
    right = "def f(n):\n    whole = 6\n    return whole // n\n"
    values: list[Plain] = [1, 2, 3, 7]

    def results(source: str) -> list[object]:
        names: dict[str, Any] = {}
        found: list[object] = []
        exec(source, names)
        for value in values:
            try:
                found.append(names["f"](value))
            except Exception as error:  # noqa: BLE001 - whatever a changed program raises
                found.append(type(error))
        return found

    changed = [one.source for one in (*alterations(right), *careless_programs(right, "f", [values]))]
    ran = [results(source) for source in changed]
    assert any(all(isinstance(one, type) for one in found) for found in ran), "some never run"
    differing = [found for found in ran if found != results(right) and not all(isinstance(one, type) for one in found)]
    made = contest([[1], [2], [3], [7]], right=right, arguments={"n": values})
    measured = asyncio.run(made.measured(HERE))
    assert (measured.differing, measured.survivors) == (len(differing), ())


class Lost(Runner):
    """A server that loses every run."""

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        return Execution(None, "", (StoppedRun("lost"),), 1.0)


def test_a_run_that_the_server_lost_is_not_graded() -> None:
    made, lost = function(), Lost(Settings())
    for work in (made.grade(0, made.right, lost), made.try_out(0, made.right, lost), made.contest().failing(lost)):
        with pytest.raises(UnavailableError, match="lost this run"):
            asyncio.run(work)


USUAL = {
    "right_too": [
        "def twice(n, size):\n    return size * n * 2 / 1000\n",
        "def twice(n, size):\n    return n * size / 500\n",
        "def twice(a, b):\n    c = a * b\n    return (c + c) / 1e3\n",
    ],
    "wrong_too": [
        "def twice(n, size):\n    return 2 * n * size\n",
        "def twice(n, size):\n    return 2 * (n - 1) * size / 1e3\n",
    ],
}


def proven(**fields: Any) -> list[Finding]:
    return asyncio.run(function(**{**USUAL, **fields}).prove_code(range(2), HERE))


ASKS = "say it as in `size: positive`: see `wallclock schema`"


def test_lint_asks_what_each_argument_takes_and_for_calls_of_each_class() -> None:
    takes = {"n": "degree", "size": "positive"}
    assert proven(takes=takes) == []
    (found,) = proven(takes={"n": "degree"}, always=[[3, "4 KB"], [2, "4 KB"], [1, "1 KB"]])
    assert (found.where, found.says, found.cure) == (("takes",), "size: not known what it takes", ASKS)
    (found,) = proven(takes=takes, wrong_too=USUAL["wrong_too"][:1])
    assert (found.where, found.says) == (("wrong_too",), "fewer than 5 usual solutions are kept")
    above = {"where": "n * 1 KB >= 2 KB", "arguments": {"n": [2, 3], "size": ["1 KB", "4 KB"]}}
    assert proven(takes=takes, **above, without={"n is 1": "One sends nothing."}) == []
    (found,) = proven(takes=takes, without={"n is 2": "No reason."})
    assert (found.where, found.says) == (("without", "n is 2"), "'n is 2' is called, or is not a class of an argument")


def test_lint_finds_a_right_program_that_is_wrong() -> None:
    (found,) = proven(takes={}, right=ONCE, right_too=[ONCE], wrong_too=[])
    assert found.where == ("right",)
    assert found.says.startswith("the right program fails: `twice(2, 1000.0)` should return **4** but returned `2`")


def test_what_is_annotated_is_not_changed() -> None:
    made = [one.source for one in alterations("def f(a: int, b: int) -> int:\n    return a + b\n")]
    assert len(made) > 5
    assert all(source.startswith("def f(a: int, b: int) -> int:") for source in made)


@each(
    ("takes", "given", "has", "lacks"),
    [
        ("list of amount", [[1.5]], 0, -2.5),
        ("list of positive", [[1.5]], 0.375, 0),
        ("list of real", [[1.5]], -2.5, 5000),
        ("list of count", [[1]], 700, 0.375),
    ],
)
def test_a_list_has_zeros_where_it_may(takes: str, given: list[Argument], has: float, lacks: float) -> None:
    column = kind_of(takes, given).column
    numbers = {one for row in column if isinstance(row, list) for one in row}
    assert has in numbers
    assert lacks not in numbers


def test_a_number_is_drawn_around_what_the_file_gives() -> None:
    assert kind_of("positive", ["4 GB"]).column[1:3] == [0.0005 * 4e9, 0.375 * 4e9]
    assert kind_of("positive", [500]).column[1:3] == [0.0005, 0.375]
    assert kind_of("probability", [0.5]).column == [0.5, 0, 0.25, 0.875, 0.999, 1]
    assert kind_of("choice", ["'a'"]).column == ["'a'"]
