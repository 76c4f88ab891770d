"""Grading for other graders: a sheet of questions, a student's answers, and results in their formats.

Gradescope runs a program and reads `results/results.json`; PrairieLearn's external grader does the
same with other names. Both ask for one file, whatever a student has sent.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from app.core.errors import InputError, nearest
from app.core.quotation import escape_markdown, quote_json
from app.core.validation import first_problem
from app.core.yaml_file import read_document
from app.course.content.catalog import Catalog
from app.site.grading.offline import FiniteNumber

ANSWERS_LIMIT = 1 << 20  # bytes of a student's file


class SheetQuestion(BaseModel):
    """A question of a sheet: an exercise as a seed draws it, and what it is worth."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    exercise: StrictStr
    seed: Annotated[int, Field(ge=0)] = 0
    points: Annotated[FiniteNumber, Field(gt=0)] = 1.0


class QuestionSheet(BaseModel):
    """The questions that a student answers, by the name that they write before each answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Annotated[dict[StrictStr, SheetQuestion], Field(min_length=1)]

    @classmethod
    def read(cls, path: Path, catalog: Catalog) -> "QuestionSheet":
        """The sheet in the YAML file at *path*.

        Raises:
            InputError: it is none, or an exercise in it does not exist.
        """
        try:
            sheet = cls.model_validate(read_document(path).values)
        except ValidationError as error:
            raise InputError(f"{path}: {first_problem(error.errors(include_url=False), cls)}") from None
        for question in sheet.questions.values():
            catalog.exercise(question.exercise)
        return sheet


def sheet_lines(sheet: QuestionSheet, answers: bytes, name: str) -> Iterator[bytes]:
    """A line to grade for each question that *answers*, the JSON object in the file *name*, answers.

    Raises:
        InputError: it is not a JSON object, or answers what no question asks.
    """
    for question, answer in _answers_in(answers, name, sheet).items():
        asked = sheet.questions[question]
        line = {"exercise": asked.exercise, "seed": asked.seed, "answer": answer, "ref": question}
        yield json.dumps(line).encode() + b"\n"


def _answers_in(content: bytes, name: str, sheet: QuestionSheet) -> Mapping[str, object]:
    if len(content) > ANSWERS_LIMIT:
        raise InputError(f"{name} has more than {ANSWERS_LIMIT >> 20} MiB")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{name} is not JSON: {error}; write {{"QUESTION": "ANSWER", …}}') from None
    if not isinstance(found, dict):
        raise InputError(f'{name} must be an object, {{"QUESTION": "ANSWER", …}}, not {quote_json(found)}')
    for question in found:
        if question not in sheet.questions:
            near = nearest(question, sheet.questions) or f"; the questions are {', '.join(sheet.questions)}"
            raise InputError(f"{name}: there is no question {quote_json(question)}{near}")
    return found


class GradedQuestion(BaseModel):
    """What came of one question."""

    name: str
    points: float
    of: float
    says: str  # Markdown


def graded_lines(rows: Iterable[bytes]) -> Iterator[GradedQuestion]:
    """One question, worth a point, for each result row of a file that was graded without a sheet."""
    for number, row in enumerate(rows, 1):
        found = json.loads(row)
        name = found.get("ref") or found.get("exercise") or f"line {number}"
        yield GradedQuestion(name=str(name), points=found.get("score", 0.0), of=1.0, says=_feedback(found))


def graded_sheet(sheet: QuestionSheet, rows: Iterable[bytes]) -> Iterator[GradedQuestion]:
    """Every question of *sheet* in its order, with what *rows* say of it."""
    found = {row["ref"]: row for row in map(json.loads, rows)}
    for name, asked in sheet.questions.items():
        row = found.get(name)
        share = row.get("score", 0.0) if row else 0.0
        says = _feedback(row) if row else "No answer was sent."
        yield GradedQuestion(name=name, points=share * asked.points, of=asked.points, says=says)


def _feedback(row: Mapping[str, Any]) -> str:
    if "error" in row:
        return escape_markdown(f"This cannot be graded: {row['error']}.")
    return "\n\n".join(row["feedback"]) or ("Right." if row["verdict"] == "correct" else "Not right.")


def refused_sheet(sheet: QuestionSheet, trouble: Exception) -> list[GradedQuestion]:
    """No points for any question, since the file of a student cannot be read: *trouble* says why."""
    return [
        GradedQuestion(name=name, points=0.0, of=asked.points, says=escape_markdown(str(trouble)))
        for name, asked in sheet.questions.items()
    ]


def gradescope(graded: Sequence[GradedQuestion]) -> dict[str, object]:
    """`results.json` of Gradescope: a test for each question."""
    return {
        "tests": [
            {
                "name": one.name,
                "score": one.points,
                "max_score": one.of,
                "status": "passed" if one.points == one.of else "failed",
                "output": one.says,
                "output_format": "md",
            }
            for one in graded
        ],
        "visibility": "visible",
    }


def prairielearn(graded: Sequence[GradedQuestion]) -> dict[str, object]:
    """`results.json` of PrairieLearn's external graders: a share of all points, and a test for each question."""
    return {
        "gradable": True,
        "score": sum(one.points for one in graded) / sum(one.of for one in graded),
        "tests": [{"name": one.name, "points": one.points, "max_points": one.of, "output": one.says} for one in graded],
    }


FORMATS: Mapping[str, Callable[[Sequence[GradedQuestion]], dict[str, object]]] = {
    "gradescope": gradescope,
    "prairielearn": prairielearn,
}
