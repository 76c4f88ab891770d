"""An answer, how long it may be, the verdict on it, and the key of a diagnosis."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import blake2s

from pydantic import BaseModel, ConfigDict, PrivateAttr, TypeAdapter, ValidationError

from app.core.errors import AnswerError, InputError
from app.core.simulators.programs import PlayedSchedule
from app.core.simulators.sharding import PlayedPlan
from app.core.translation import localized, translate
from app.course.kinds.common_mistakes import common_wordings

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
    `app.course.kinds.answers`. What was *played* to judge it is drawn beside it.
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


_BYTES = 6
_REMEMBERED = 8_192


@lru_cache(_REMEMBERED)
def mistake_key(wording: str) -> str:
    """The key of a diagnosis with this *wording*, before any value is filled in.

    >>> mistake_key("Is a factor of {ranks} missing?")
    'cc4f9172394f'
    """
    return blake2s(wording.strip().encode(), digest_size=_BYTES).hexdigest()


def key_told(says: str, filled: Iterable[str], wordings: Iterable[str]) -> str:
    """The key of the one of *wordings* that, *filled* in, is what was said; else of a common one.

    Empty if it is not a known mistake, such as "70 ms is too large".
    """
    for told, wording in zip(filled, wordings, strict=True):
        if told == says:
            return mistake_key(wording)
    return _keys_of_common().get(says, "")


def first_mistake(parts: Iterable[PartVerdict]) -> str:
    """The key of the first mistake in *parts*."""
    return next((part.mistake for part in parts if part.mistake), "")


def common_diagnosis(key: str) -> str:
    """The sentence about a common mistake with that *key*; empty if there is none."""
    return localized(_common().get(key, ""))


class Worded(BaseModel):
    """What has texts in one language, made from an original in English."""

    _language: str = PrivateAttr("en")
    _kept_keys: dict[str, str] = PrivateAttr(default_factory=dict)  # by those of its wordings

    @property
    def language(self) -> str:
        """The language of its texts."""
        return self._language

    def translates(self, wordings: Mapping[str, str], language: str) -> None:
        """Note that its texts are in *language*; *wordings* has them by those of the original.

        Mistakes are stored under the keys that they have there.
        """
        self._language = language
        self._kept_keys.update({mistake_key(ours): mistake_key(its) for its, ours in wordings.items()})

    def untold(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Texts, by their place, that are filled with other values than drawn ones."""
        yield from ()

    def kept_key(self, key: str) -> str:
        """The *key* of a wording of this file, as it is stored: in every language the same."""
        return self._kept_keys.get(key, key)


@cache
def _common() -> dict[str, str]:
    return dict(common_wordings())


@cache
def _keys_of_common() -> dict[str, str]:
    return {says: key for key, says in common_wordings()}
