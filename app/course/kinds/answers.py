"""An answer, how long it may be, and the verdict on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ConfigDict, TypeAdapter, ValidationError

from app.core.errors import AnswerError, InputError
from app.core.simulators.programs import PlayedSchedule
from app.core.simulators.sharding import PlayedPlan
from app.core.translation import translate

PlayedAnswer = PlayedPlan | PlayedSchedule  # an answer that was played, step by step
Answer = str | list[str] | dict[str, str]
_NAMED_OR_LISTED: TypeAdapter[dict[str, str] | list[str]] = TypeAdapter(
    dict[str, str] | list[str], config=ConfigDict(defer_build=True)
)


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """The verdict on one of several answers; *correct* is None where it was left empty.

    *mistake* is the key of the diagnosis, where it is a known mistake; *score* is what a wrong
    answer is worth.
    """

    correct: bool | None
    says: str
    mistake: str = ""
    score: float = 0.0

    @property
    def share(self) -> float:
        """The share of its points that this answer gets."""
        return 1.0 if self.correct else self.score


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one answer, and the sentences (Markdown) shown with it.

    *mistake* is the key of the first diagnosis among them that is a known mistake: see
    `app.course.kinds.diagnosis_key`. What was *played* to judge it is drawn beside it.
    """

    correct: bool
    score: float
    feedback: tuple[str, ...]
    parts: Mapping[str, PartVerdict] = field(default_factory=dict)
    mistake: str = ""
    played: PlayedAnswer | None = None


class TooLongError(InputError):
    """An answer is longer than allowed: status 413."""


def answer_length(answer: Answer) -> int:
    """The number of characters in *answer*, including the names of its parts."""
    if isinstance(answer, str):
        return len(answer)
    if isinstance(answer, list):
        return sum(len(part) + 1 for part in answer)
    return sum(len(name) + len(text) for name, text in answer.items())


def refuse_longer(answer: Answer, limit: int) -> None:
    """Refuse an *answer* of more than *limit* characters.

    Raises:
        TooLongError: it has more.
    """
    if answer_length(answer) > limit:
        raise TooLongError(translate("an answer has at most {limit:,} characters", limit=limit))


def single_text(answer: Answer) -> str:
    """*answer*, which must be one string.

    Raises:
        AnswerError: it is a list or an object.
    """
    if not isinstance(answer, str):
        raise AnswerError(translate("the answer must be a string, not a list or an object"))
    return answer


def stored_answer(text: str, right: Answer) -> Answer:
    """The answer that is stored as *text*, in the form of the *right* one.

    Raises:
        AnswerError: it was given when the exercise asked for something else.
    """
    if isinstance(right, str):
        return text
    try:
        return _NAMED_OR_LISTED.validate_json(text)
    except ValidationError:  # it may come from a file that was imported
        raise AnswerError(translate("the stored answer is of another kind")) from None


@dataclass(frozen=True, slots=True)
class CountedPart:
    """A part of the right answer, and whether a wrong one counts it."""

    name: str
    value: float
    counted: bool


@dataclass(frozen=True, slots=True)
class CountedParts:
    """A wrong answer as the sum of some parts of the right one; both are texts with a unit."""

    parts: tuple[CountedPart, ...]
    given: str
    right: str
