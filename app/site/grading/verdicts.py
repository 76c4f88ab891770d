"""Submissions and results of programs: the same format over HTTP and in files."""

import json
from codecs import BOM_UTF8
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from app.core.errors import AnswerError, InputError
from app.core.quotation import escape_markdown, shortened
from app.core.validation import first_problem
from app.course.kinds import SEEDS, Answer, Verdict
from app.course.kinds.answers import refuse_longer


def _whole(value: object) -> object:
    """Accept 7.0, which is an integer in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digits(value: object) -> object:
    """Accept the number of a person as it is sent: 4711 is "4711"."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


# A person as programs call them: by the id in other systems, or by number.
PersonKey = Annotated[StrictStr, Field(max_length=255), BeforeValidator(_digits)]
Expectation = Literal["correct", "incorrect"]
FiniteNumber = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Submission(BaseModel):
    """One answer to one exercise."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"exercise": "collectives/ring-all-reduce-time", "seed": 7, "answer": "70 ms"}]
        },
    )

    exercise: StrictStr = Field(max_length=200)
    seed: Annotated[StrictInt, BeforeValidator(_whole), Field(ge=0, lt=SEEDS)] = 0
    answer: StrictStr | StrictInt | FiniteNumber | list[StrictStr] | dict[str, StrictStr | FiniteNumber]
    ref: StrictStr | StrictInt | None = Field(default=None, description="copied to the result")
    learner: Annotated[StrictStr, Field(min_length=1, max_length=255), BeforeValidator(_digits)] | None = Field(
        default=None,
        description="whose answer it is, copied to the result: with a token of a class, the id of "
        "a member in other systems, or their number; with others, any name",
    )
    expect: Expectation | None = Field(default=None, description="the verdict that is expected, copied to the result")
    says: StrictStr | None = Field(
        default=None, description="a sentence that is expected in the feedback; `grade` compares it"
    )

    def read(self, limit: int) -> Answer:
        """The answer in the form that exercises accept.

        Raises:
            TooLongError: it has more than *limit* characters.
        """
        answer: Answer
        if isinstance(self.answer, list):
            answer = self.answer
        elif isinstance(self.answer, dict):
            answer = {name: _text(value) for name, value in self.answer.items()}
        else:
            answer = _text(self.answer)
        refuse_longer(answer, limit)
        return answer


class CheckResult(BaseModel):
    """The verdict on an answer, with feedback in Markdown."""

    exercise: str
    seed: int
    verdict: Literal["correct", "incorrect", "unreadable"]
    score: float = Field(ge=0, le=1)
    feedback: list[str]
    ref: str | int | None = None
    learner: str | None = None
    expect: Expectation | None = None


def read_submission(line: bytes | None, limit: int) -> Submission:
    """The submission in a *line*; it is None if it has more than *limit* bytes.

    Raises:
        InputError: it is too long, not JSON, or not a valid submission.
    """
    if line is None:
        raise InputError(f"the line is too long: at most {limit:,} bytes are read")
    try:
        return Submission.model_validate_json(line.removeprefix(BOM_UTF8))
    except ValidationError as error:
        raise InputError(first_problem(error.errors(include_url=False), Submission)) from None


def check_result(submission: Submission, verdict: Verdict) -> CheckResult:
    """The result for *submission*."""
    return CheckResult(
        exercise=submission.exercise,
        seed=submission.seed,
        verdict="correct" if verdict.correct else "incorrect",
        score=verdict.score,
        feedback=list(verdict.feedback),
        ref=submission.ref,
        learner=submission.learner,
        expect=submission.expect,
    )


def unreadable_result(submission: Submission, error: AnswerError) -> CheckResult:
    """The result for an answer that cannot be parsed."""
    return CheckResult(
        exercise=submission.exercise,
        seed=submission.seed,
        verdict="unreadable",
        score=0.0,
        feedback=[escape_markdown(str(error))],  # it quotes the answer
        ref=submission.ref,
        learner=submission.learner,
        expect=submission.expect,
    )


def error_row(number: int, line: bytes | None, error: Exception | str) -> bytes:
    """The line of JSON for line *number*, which cannot be graded."""
    row: dict[str, object] = {"error": shortened(str(error)), "line": number}
    if line is not None and (reference := _reference(line)) is not None:
        row["ref"] = reference
    return json.dumps(row).encode() + b"\n"


def verdict_row(result: CheckResult) -> bytes:
    """The line of JSON for a line that was graded."""
    return result.model_dump_json(exclude_none=True).encode() + b"\n"


def _reference(line: bytes) -> str | int | None:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    reference = values.get("ref") if isinstance(values, dict) else None
    return reference if isinstance(reference, str | int) else None


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else repr(value)
