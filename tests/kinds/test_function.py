import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.core.errors import UnavailableError
from app.course.content.catalog import Catalog
from app.course.kinds import Finding
from app.course.kinds.base import Verdict
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.code.function import Function
from app.course.sandbox.process import CallRaised, CallReturned, Execution, Outcome, Plain, Reason, StoppedRun
from app.course.sandbox.runner import Runner
from tests.each import each

pytestmark = pytest.mark.slow(15)

ACCEPTED = json.loads((Path(__file__).parent / "accepted_programs.json").read_text())["programs"]
Loop = asyncio.AbstractEventLoop
REASONS: tuple[Reason, ...] = ("time", "memory", "stack", "too large", "refused")
WITHOUT_REFERENCE = (
    "algebra/write-the-collective",
    "attention/write-online-softmax",
    "capstone/write-a-check",
    "checkpoints/write-the-interval",
    "checkpoints/write-the-replay",
    "checkpoints/write-the-spares",
    "collectives/write-the-fit",
    "communicating-less/write-error-feedback",
    "context/write-the-ring-time",
    "diagnosis/write-the-culprit",
    "experts/write-the-bias",
    "meshes/write-the-coordinates",
    "networks/write-the-crossings",
    "optimizers/write-the-noise-scale",
    "precision/write-loss-scale",
    "precision/write-mxfp4",
    "rl/write-the-advantages",
    "scaling/write-the-isoflop",
    "scaling/write-the-optimum",
    "serving/write-best-draft",
    "serving/write-the-queue",
    "tensor/write-the-split",
    "tensor/write-vocabulary-loss",
)


class Busy(Runner):
    """The real sandbox on a machine so busy that *source* is ended after a few of its calls."""

    def __init__(self, real: Runner, source: str, calls: int | None, ending: Outcome) -> None:
        self.real, self.source, self.calls, self.ending = real, source, calls, ending

    async def run(self, source: str, entry: str, calls: Sequence[Sequence[Plain]], learner: str = "") -> Execution:
        report = await self.real.run(source, entry, calls, learner)
        if source != self.source:
            return report
        if self.calls is None:  # in the body
            assert not isinstance(self.ending, CallReturned)
            return Execution(self.ending, "", (), 1.0)
        return replace(report, outcomes=(*report.outcomes[: self.calls], self.ending))


def function(catalog: Catalog, name: str) -> Function:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Function)
    exercise = exercise.model_copy(deep=True)  # what one test makes it keep is not another's
    exercise._expected.clear()
    exercise._foreseen.clear()
    exercise._results.clear()
    return exercise


def changed(exercise: Function, **update: object) -> Function:
    """*exercise* with other values under some keys, read like a file."""
    return Function.model_validate({**exercise.model_dump(by_alias=True), **update})


def functions(catalog: Catalog) -> list[Function]:
    return [one for one in catalog.exercises if isinstance(one, Function)]


def graded(loop: Loop, exercise: Function, runner: Runner, source: str, seed: int = 0) -> Verdict:
    return loop.run_until_complete(exercise.grade(seed, source, runner))


def test_the_exercises_without_a_formula_are_these(catalog: Catalog) -> None:
    assert {one.id for one in functions(catalog) if not one.reference} == set(WITHOUT_REFERENCE)


@each("name", WITHOUT_REFERENCE)
def test_nobody_is_right_while_the_right_program_does_not_run_through(
    catalog: Catalog, runner: Runner, loop: Loop, name: str
) -> None:
    exercise = function(catalog, name)
    wrong = f"def {exercise.entry}(*_):\n    return 'anything'\n"
    endings: list[Outcome] = [StoppedRun(reason) for reason in REASONS]
    endings.append(CallRaised("MemoryError", "", None))
    # Every ending comes before, at and after the first call in some exercise; each exercise has all three.
    first = list(WITHOUT_REFERENCE).index(name)
    for number, ending in enumerate(endings, first):
        busy = Busy(runner, exercise.right, (None, 0, 3)[number % 3], ending)
        for source in (wrong, exercise.right):
            with pytest.raises(UnavailableError, match="submit it again"):
                graded(loop, exercise, busy, source, 987654)
    assert not graded(loop, exercise, runner, wrong, 987654).correct
    assert graded(loop, exercise, runner, exercise.right, 987654).correct


NOT_RUN: dict[Reason, str] = {"lost": "lost this run", "busy": "too busy to run this program"}


@each(("reason", "says"), NOT_RUN.items())
@each("calls", [None, 0, 3])
def test_a_program_that_did_not_run_is_neither_graded_nor_proven_wrong(
    catalog: Catalog, runner: Runner, loop: Loop, reason: Reason, says: str, calls: int | None
) -> None:
    exercise = function(catalog, "collectives/write-ring-time")
    listed = catalog.exercise("pipelines/fraction-line")
    assert isinstance(listed, BuggyLine)

    def busy_with(source: str) -> Busy:
        return Busy(runner, source, calls, StoppedRun(reason))

    for work in (
        exercise.grade(0, exercise.right, busy_with(exercise.right)),
        exercise.contest().failing(busy_with(exercise.contest()._source)),
        listed.prove_code(range(1), busy_with(listed.code)),
    ):
        with pytest.raises(UnavailableError, match=says):
            loop.run_until_complete(work)


def test_where_nothing_can_be_drawn_the_examples_grade(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = changed(
        function(catalog, "accumulation/write-accumulation-steps"), where="target < 0", always=[], takes={}
    )
    assert len(loop.run_until_complete(exercise.hidden_calls(0, runner)).calls) == len(exercise.examples)
    assert graded(loop, exercise, runner, exercise.right).correct
    assert not graded(loop, exercise, runner, exercise.wrong[0].code).correct


def test_a_foreseen_mistake_that_was_stopped_is_tried_again(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = function(catalog, "collectives/write-ring-time")
    wrong = exercise.wrong[0]
    busy = Busy(runner, wrong.code, 2, StoppedRun("time"))
    other = wrong.code + "\n# somebody else's\n"
    assert wrong.says not in graded(loop, exercise, busy, other).feedback
    assert wrong.says.strip() in graded(loop, exercise, runner, other).feedback


def test_a_right_program_of_another_style_is_right(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    for exercise in functions(catalog):
        assert exercise.right_too, exercise.id
        for program in exercise.right_too:
            for seed in (0, 7, 59):
                verdict = graded(loop, exercise, runner, program, seed)
                assert verdict.correct, (exercise.id, program, verdict.feedback)


def test_a_usual_slip_is_wrong_at_every_seed(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    for exercise in functions(catalog):
        assert len(exercise.right_too) + len(exercise.wrong_too) >= 5, exercise.id
        for program in exercise.wrong_too:
            assert not any(graded(loop, exercise, runner, program, seed).correct for seed in range(12)), program


@pytest.mark.sweep
@each("one", ACCEPTED)
def test_a_program_that_was_once_accepted_is_wrong_at_every_seed(
    catalog: Catalog, runner: Runner, loop: Loop, one: dict[str, str]
) -> None:
    exercise = function(catalog, one["exercise"])
    assert not any(graded(loop, exercise, runner, one["program"], seed).correct for seed in range(40))


def test_a_program_that_fails_the_examples_alone_is_wrong_at_every_seed(
    catalog: Catalog, runner: Runner, loop: Loop
) -> None:
    for exercise in functions(catalog):
        shown = [list(call.arguments) for call in exercise.visible_calls()]
        program = f"{exercise.right}\nright = {exercise.entry}\ndef {exercise.entry}(*given):\n"
        program += f"    return 'no' if list(given) in {shown!r} else right(*given)\n"
        for seed in range(5):
            verdict = graded(loop, exercise, runner, program, seed)
            assert not verdict.correct, exercise.id
            assert "Call 1 of" in verdict.feedback[0] or exercise.always


def test_a_class_of_arguments_that_no_call_meets_is_found(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    """A class makes no sense only where the file says why, or where `where` leaves none of it."""
    exercise = function(catalog, "optimizers/write-the-noise-scale")
    bare = changed(exercise, without={})
    assert loop.run_until_complete(bare.prove_code(range(1), runner)) == []  # no value of it is given
    ring = function(catalog, "collectives/write-ring-time")
    for update, says in (
        ({"takes": {"n": "degree"}}, "size_gb, bw_gb_s, latency_us: not known what it takes"),
        ({"wrong_too": [], "right_too": []}, "fewer than 5 usual solutions"),
        ({"without": {"n is 1": "Why not?"}}, "'n is 1' is called"),
    ):
        (finding,) = loop.run_until_complete(changed(ring, **update).prove_code(range(1), runner))
        assert says in finding.says
    with pytest.raises(ValidationError, match="is none of degree"):
        changed(ring, takes={"n": "decree"})


@each(
    ("value", "right"),
    [("Fraction(1, 2)", True), ("Decimal('0.5')", True), ("Half(0.5)", True), ("object()", False), ("'0.5'", False)],
)
def test_a_number_of_another_type_is_a_number_and_another_object_is_told(
    catalog: Catalog, runner: Runner, loop: Loop, value: str, right: bool
) -> None:
    exercise = function(catalog, "testtime/write-pass-at-k")
    body = exercise.right.replace("return 1 -", "found = 1 -") + f"    return {value} if found == 0.5 else found\n"
    source = f"from fractions import Fraction\nfrom decimal import Decimal\nclass Half(float): pass\n{body}"
    verdict = graded(loop, exercise, runner, source)
    assert verdict.correct == right
    if value == "object()":
        assert "cannot be checked here: return numbers, texts, or lists of them" in verdict.feedback[0]


@each("wrap", ["(part for part in {})", "map(float, {})", "deque({})"])
def test_whatever_holds_values_in_order_is_a_list_of_them(
    catalog: Catalog, runner: Runner, loop: Loop, wrap: str
) -> None:
    exercise = function(catalog, "rl/write-the-advantages")
    source = f"from collections import deque\n{exercise.right}\nright = advantages\n"
    source += f"def advantages(rewards):\n    return {wrap.format('right(rewards)')}\n"
    assert graded(loop, exercise, runner, source).correct


def test_a_foreseen_mistake_is_named_only_if_every_call_agrees(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    """Three of the calls of every seed cannot tell these programs; a drawn one can."""
    exercise = function(catalog, "serving/write-the-queue")
    always = [[[4, 1, 1, 4], 1], [[5], 4], [[3, 3, 3, 3], 2]]
    tame = changed(exercise, always=always)
    sorting = next(wrong for wrong in exercise.wrong if "sorts" in wrong.says)
    other = exercise.right.replace("[static, max(ends)]", "[static, max(ends) + (slots == 3)]")
    assert other != exercise.right
    for seed in range(3):
        feedback = graded(loop, tame, runner, other, seed).feedback
        assert not any(wrong.says.strip() in feedback for wrong in exercise.wrong), feedback
    assert sorting.says.strip() in graded(loop, tame, runner, sorting.code).feedback


def test_none_is_only_a_missing_return_where_it_is_all_that_comes(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    scale = function(catalog, "optimizers/write-the-noise-scale")
    never = scale.right.replace("noise / signal if signal > 0 else None", "None")
    assert never != scale.right
    assert "missing" not in graded(loop, scale, runner, never).feedback[0]
    ring = function(catalog, "collectives/write-ring-time")
    (name, starter) = (ring.entry, "size_gb, n, bw_gb_s, latency_us")
    forgot = f"def {name}({starter}):\n    size_gb / n\n"
    assert "is a `return` missing?" in graded(loop, ring, runner, forgot).feedback[0]
    trial = loop.run_until_complete(ring.try_out(0, forgot, runner))
    assert "is a `return` missing?" in trial.runs[0].says
    half = forgot + "    if n > 2:\n        return 1.0\n"
    assert "missing" not in graded(loop, ring, runner, half).feedback[0]


def test_a_boundary_that_no_call_meets_is_found(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    """A failure at the moment at which the work is done: `<` and `<=` differ there alone."""
    exercise = function(catalog, "checkpoints/write-the-replay")
    kept = [row for row in exercise.always if row[-1] not in ([110], [45], [0])]

    def findings(one: Function) -> list[Finding]:
        return loop.run_until_complete(one.contest().boundary_findings(one.makes_sense, runner))

    found = findings(changed(exercise, always=kept))
    (cure,) = (one.cure for one in found if "boundary of `failure >= now + work - done" in one.says)
    assert cure == "add to always: [100, 40, 5, 10, [110]]"
    assert findings(exercise) == []


def test_true_is_not_one(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = function(catalog, "meshes/write-the-coordinates")
    program = exercise.right.replace("tuple(place)", "tuple(bool(p) if p < 2 else p for p in place)")
    assert program != exercise.right
    assert not graded(loop, exercise, runner, program).correct


def test_a_careless_program_that_no_call_reveals_is_found(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = function(catalog, "overlap/write-the-ratio")
    bare = replace(exercise.contest(), always=[[10, 64, 600, 120, 495], [10, 8, 100, 120, 495]])
    survivors = loop.run_until_complete(bare.measured(runner)).survivors
    assert {"argument 3 stored without", "argument 4 stored without"} <= set(map(str, survivors))
    assert loop.run_until_complete(exercise.contest().measured(runner)).survivors == ()


def test_for_each_argument_two_calls_of_every_seed_differ_in_it_alone(catalog: Catalog) -> None:
    for exercise in functions(catalog):
        rows = exercise.rows_of_every_seed()
        for place, name in enumerate(exercise.arguments if len(exercise.arguments) > 1 else ()):
            others = {repr([*row[:place], *row[place + 1 :]]) for row in rows}
            assert len(others) < len({repr(row) for row in rows}), f"{exercise.id} {name}"


def test_the_calls_of_every_seed_are_found_when_they_lack(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = function(catalog, "precision/write-loss-scale")
    bare = changed(exercise, always=[], takes=dict.fromkeys(exercise.takes, "choice"))
    (finding, *_) = loop.run_until_complete(bare.prove_code(range(1), runner))
    assert finding.where == ("always",)
    cured, found = bare, [finding]
    for _ in range(3):  # more calls reveal more of the programs that differ
        rows = json.loads(found[0].cure.partition("always: ")[2]) if found else []
        cured = changed(cured, always=[*cured.always, *rows])
        found = loop.run_until_complete(cured.prove_code(range(1), runner))
    assert found == []
    tame = changed(bare, always=exercise.always[:1])
    (first, *_) = loop.run_until_complete(tame.prove_code(range(1), runner))
    assert "one small change" in first.says or "wrong program" in first.says


def test_what_a_call_of_every_seed_returns_is_never_told(catalog: Catalog, runner: Runner, loop: Loop) -> None:
    exercise = function(catalog, "capstone/write-a-check")
    hidden = loop.run_until_complete(exercise.hidden_calls(5, runner))
    known: dict[str, Plain] = {call.text: call.expected for call in hidden.drawn}
    copied = f"def problems(*a):\n    return {known!r}.get('problems(' + str(a)[1:-1] + ')')\n"
    verdict = graded(loop, exercise, runner, copied, 5)
    assert not verdict.correct
    assert verdict.score == len(hidden.drawn) / len(hidden.calls)
    assert "should return" not in verdict.feedback[0]
    assert hidden.always[0].text in verdict.feedback[0]


@each(
    ("change", "says"),
    [
        ("round({}, 2)", "which is rounded: return it unrounded."),
        ("float('%.4g' % ({}))", "which is rounded: return it unrounded."),
        ("1.01 * ({})", "but returned"),
        ("1 << 79_000 or {}", "at most about 4,300 digits can be checked"),
        ("[1 << 79_000, {}]", "at most about 4,300 digits can be checked"),
        ("{{1 << 79_000, {}}}", "at most about 4,300 digits can be checked"),
        ("{{1: 1 << 79_000, 2: {}}}", "at most about 4,300 digits can be checked"),
    ],
)
def test_what_is_wrong_with_a_number_is_said(
    catalog: Catalog, runner: Runner, loop: Loop, change: str, says: str
) -> None:
    exercise = function(catalog, "collectives/write-ring-time")
    value = "2 * (n - 1) * (s / n / b * 1e3 + l / 1e3)"
    program = f"def ring_allreduce_ms(s, n, b, l):\n    return {change.format(value)}\n"
    verdict = graded(loop, exercise, runner, program)
    assert not verdict.correct
    assert says in verdict.feedback[0]
    assert ("rounded" in verdict.feedback[0]) == ("rounded" in says)
