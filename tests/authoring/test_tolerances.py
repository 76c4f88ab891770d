"""A tolerance accepts no other value that the file names."""

import pytest

from app.authoring.giveaways import prove_tolerances
from app.authoring.texts import Script
from app.course.content.catalog import Catalog
from app.course.kinds import EXERCISE, Finding
from app.course.kinds.base import Base
from tests.authoring.conftest import Lint

FILE = """\
kind: numeric
title: A weight that is stored again
level: 1
prompt: "Where does a weight of {{w}} end after an update of {{u}}?"
given: {{w: [4, 6], u: [0.01, 0.02]}}
answer: {answer}
tolerance: {tolerance}
mistakes:
  w + 3: That is another weight.
  2 * w: That is twice the weight.
hints: [What is near it?, {hint}]
solution: It ends at {{answer}}.
sources: [https://example.org/]
quantity: number
"""


@pytest.mark.parametrize(
    ("answer", "tolerance", "hint", "says"),
    [
        ("precision.round_to(w + u, 'bf16')", "1 %", "Round it.", "is 4, as where nothing changes"),
        ("precision.round_to(w + u, 'bf16')", "exact", "Round it.", ""),
        ("1.004 * w", "1 %", "Multiply it.", "4 counts as well, which is w"),
        ("1.004 * w", "0.1 %", "Multiply it.", ""),
        ("1.1 * w", "1 %", "It is more than 4.38.", "4.38 counts as well, which is 4.38 in a text"),
        ("1.1 * w", "1 %", "It is about 4.4.", ""),
        ("1.1 * w", "1 %", '"It is more than {{1.095 * w}}."', "which is 1.095 * w"),
        ("1.1 * w", "1 %", "It is more than 4.", ""),
        (
            "(w + u) * 1.05",
            "1 %",
            "Add and multiply.",
            "4.2 counts as well, which is the answer without one of its terms",
        ),
        ("(w + 5) * 1.005", "1 %", "Add, multiply.", "which is a part of (w + 5) * 1.005"),
        ("floor(w * 25.01)", "1 %", "It is whole.", ""),
        ("w / w", "1 %", "Divide.", "is 1, as where nothing changes"),
        ("w * (100 - u)", "1 %", "Subtract.", ""),  # without u it is the same to four figures
        ("w * (100 - 30 * u)", "1 %", "Subtract.", "400 counts as well, which is the answer without one of its terms"),
        ("w * (100 - 30 * u)", "0.1 %", "Subtract.", ""),
    ],
)
def test_a_value_that_the_file_names_is_not_within_the_tolerance(
    found: Lint, answer: str, tolerance: str, hint: str, says: str
) -> None:
    file = FILE.format(answer=answer, tolerance=tolerance, hint=hint)
    problems = [one for one in found(file) if " count" in one.says]
    if not says:
        assert problems == []
        return
    (problem,) = problems
    assert says in problem.says
    assert problem.cure


def _found(exercise: Base, **changes: object) -> list[Finding]:
    whole = exercise.model_dump(by_alias=True)
    whole["answers"] = {
        name: {**asked, **{key: changes[key] for key in changes if key in asked}}
        for name, asked in whole["answers"].items()
    }
    return list(prove_tolerances(Script(type(exercise).model_validate(whole))))  # type: ignore[arg-type]


def test_one_round_does_not_stand_for_five(catalog: Catalog) -> None:
    exercise = catalog.exercise("optimizers/lifted-to-one")
    assert _found(exercise) == []
    (finding,) = _found(exercise, tolerance="1 %")
    assert finding.where == ("answers", "one", "answer")
    assert "0.701 counts as well" in finding.says


def test_a_weight_that_moved_does_not_stand_for_one_that_stayed(catalog: Catalog) -> None:
    (finding,) = _found(catalog.exercise("precision/rounded-by-chance"), tolerance="1 %")
    assert finding.where == ("answers", "nearest", "answer")
    assert finding.says.startswith("is 1, as where nothing changes")


def test_no_exercise_of_the_course_accepts_another_value_that_it_names(catalog: Catalog) -> None:
    found = {one.id: list(prove_tolerances(Script(one))) for one in catalog.exercises}
    assert {name: findings for name, findings in found.items() if findings} == {}


def test_what_a_condition_limits_is_exact(catalog: Catalog) -> None:
    most = catalog.exercise("checkpoints/gpus-for-a-day").model_dump(by_alias=True)
    loose = EXERCISE.validate_python({**most, "tolerance": "1 %", "answer": "round(gpus * mtbf / target)"})
    findings = [one for one in prove_tolerances(Script(loose)) if "condition" in one.says]
    assert [one.cure for one in findings] == []  # 2,111 is declared to be no count
    counted = EXERCISE.validate_python({**most, "tolerance": "1 %", "quantity": "count"})
    (finding,) = prove_tolerances(Script(counted))
    assert finding.says == "is 2,111, the last that meets a condition, and others within 1 % count"


def test_the_next_row_of_a_table_is_not_within_the_tolerance(catalog: Catalog) -> None:
    table = catalog.exercise("collectives/where-bandwidth-takes-over").model_dump(by_alias=True)
    (finding,) = prove_tolerances(Script(EXERCISE.validate_python({**table, "tolerance": "10 %"})))
    assert "counts as well, which is that of a row beside table_" in finding.says
    assert list(prove_tolerances(Script(EXERCISE.validate_python(table)))) == []
