"""The base of every kind of exercise; an answer, and the verdict on it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from hashlib import blake2s
from typing import Annotated, ClassVar, Self, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    HttpUrl,
    PrivateAttr,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from app.core.errors import AnswerError, InputError, nearest
from app.core.expressions import fill
from app.core.simulators.programs import PlayedSchedule
from app.core.simulators.sharding import PlayedPlan
from app.core.translation import SOURCE, localize, noted, speaking, translate
from app.course.kinds.common_mistakes import common_wordings
from app.course.kinds.drawn_values import ChapterParameter, Draw, DrawnChoices, DrawnValue, draw, refuse_others, values
from app.course.sandbox.runner import Runner

PlayedAnswer = PlayedPlan | PlayedSchedule  # an answer that was played, step by step
Answer = str | list[str] | dict[str, str]
_NAMED_OR_LISTED: TypeAdapter[dict[str, str] | list[str]] = TypeAdapter(
    dict[str, str] | list[str], config=ConfigDict(defer_build=True)
)


@dataclass(frozen=True, slots=True)
class PartVerdict:
    """The verdict on one of several answers: None if empty; the key of a known *mistake*, and what it is worth."""

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
    """The verdict on one answer, and the sentences (Markdown) shown with it; what was *played* is drawn beside it."""

    correct: bool
    score: float
    feedback: tuple[str, ...]
    parts: Mapping[str, PartVerdict] = field(default_factory=dict)
    mistake: str = ""  # the key of the first diagnosis among them that is a known mistake
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


_UNKNOWN = noted("no answer is called {name!r}{near}")


def named_answers(answer: Answer, names: Collection[str], unknown: str = _UNKNOWN) -> dict[str, str]:
    """*answer*, which must be an object of texts under *names*, without those that are left empty.

    Raises:
        AnswerError: it is something else, or has another name: *unknown* says so.
    """
    if not isinstance(answer, dict):
        raise AnswerError(translate("the answer must be an object with {names}", names=", ".join(names)))
    for name in answer:
        if name not in names:
            raise AnswerError(translate(unknown, name=name, near=nearest(name, names)))
    return {name: text for name, text in answer.items() if text.strip()}


def posted_answers(form: Mapping[str, Sequence[str]], names: Iterable[str]) -> dict[str, str]:
    """The answers under *names* in a posted form: a field "answer.NAME" for each."""
    return {name: form[f"answer.{name}"][0] for name in names if form.get(f"answer.{name}")}


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
_ANSWERS_REMEMBERED = 8_192


@lru_cache(_ANSWERS_REMEMBERED)
def mistake_key(wording: str) -> str:
    """The key of a diagnosis with this *wording*, before any value is filled in.

    >>> mistake_key("Is a factor of {ranks} missing?")
    'cc4f9172394f'
    """
    return blake2s(wording.strip().encode(), digest_size=_BYTES).hexdigest()


def key_told(says: str, filled: Iterable[str], wordings: Iterable[str]) -> str:
    """The key of the wording that, *filled* in, is what was said, or of a common one; empty if neither."""
    for told, wording in zip(filled, wordings, strict=True):
        if told == says:
            return mistake_key(wording)
    return next((key for key, common in _common().items() if common == says), "")


def first_mistake(parts: Iterable[PartVerdict]) -> str:
    """The key of the first mistake in *parts*."""
    return next((part.mistake for part in parts if part.mistake), "")


def common_diagnosis(key: str) -> str:
    """The sentence about a common mistake with that *key*; empty if there is none."""
    return localize(_common().get(key, ""))


@cache
def _common() -> dict[str, str]:
    return dict(common_wordings())


Markdown = Annotated[str, Field(min_length=1)]
Quotes = Annotated[
    list[Markdown],
    BeforeValidator(
        lambda quote: [quote] if isinstance(quote, str) else quote, json_schema_input_type=Markdown | list[Markdown]
    ),
]  # one or several, of the texts of a file


class Strict(BaseModel):
    """A part of an exercise file: no unknown keys, and never changed after reading."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False)


_REMEMBERED = 512  # values, as of the variants of one exercise: each of a class has its own

_K = TypeVar("_K")
_V = TypeVar("_V")


class ValueCache(dict[_K, _V]):
    """A cache of values by key; it starts over when there are too many."""

    most: ClassVar[int] = _REMEMBERED

    def of(self, key: _K, work_out: Callable[[], _V]) -> _V:
        """The value of *key*, which *work_out* returns the first time."""
        known = self.get(key)
        return self.keep(key, work_out()) if known is None else known

    def keep(self, key: _K, value: _V) -> _V:
        """*value*, stored as that of *key*."""
        if len(self) >= self.most:
            self.clear()
        self[key] = value
        return value


class EmbeddedFigures(Strict):
    """Figures of an explorer in a state that is fixed, or filled with an exercise's values."""

    explorer: str = Field(description="its name, as in /explore/pipeline")
    state: dict[str, str | int | float] = Field(
        default_factory=dict, description='controls by name; in an exercise "{p}" is a drawn value'
    )
    figure: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="which of its figures, from 0; all if omitted"
    )
    predict: bool = Field(default=False, description="ask for a number before it is shown")


class ExerciseFigure(Strict):
    """A figure of what is asked, drawn with the values of an exercise; it shows no result."""

    draws: str = Field(description="its name: /authoring lists them")
    given: dict[str, str | int | float] = Field(
        default_factory=dict, alias="with", description="its inputs: expressions of drawn values"
    )
    plays: str = Field(
        default="",
        description="the step that a figure that moves plays to, of drawn values and the learner's `answer` or answers",
    )


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to choose, to put in its place, or to match."""

    key: str
    text: str


SEEDS = 2**31  # 0 to 2**31 - 1
DOTTED = re.compile(r"(?<!\w)[a-z]\w*+(?:\.[a-z]\w*+)+")

Where = tuple[str | int, ...]  # the path of keys to a value in an exercise file
Slug = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]*$", max_length=40)]  # of an option, a step


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem for the author to fix, with its cure; *where* is its place in the file."""

    where: Where
    says: str
    cure: str = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """An exercise as one seed draws it; texts are Markdown with the drawn values filled in."""

    draw: Draw
    prompt: str
    hints: tuple[str, ...]
    solution: str


class Base(Strict, ABC):
    """One exercise; everything it shows and every verdict depend on its file and a seed alone.

    Its texts are in one language, made from an original in English. Each kind sets the class variables; the rest of
    the site asks them, never the kind's name.
    """

    kind_title: ClassVar[str]  # in lists of exercises
    sample: ClassVar[str]  # an exercise of the course that shows the kind well
    runs_code: ClassVar[bool] = False  # to grade an answer is to run it in the sandbox
    pace: ClassVar[float] = 2.0  # minutes that an exercise of level 1 takes
    asks_for_numbers: ClassVar[bool] = False  # formulas beside it do not say what is right
    only_draws: ClassVar[bool] = False  # seeds that draw the same values make the same exercise
    is_played: ClassVar[bool] = False  # an answer is judged by playing it, and drawn as it goes
    id: str = Field(description="the path of the file; not written in it")
    digest: str = Field(description="hash of the file; not written in it")
    title: str = Field(max_length=80, min_length=3, description="3 to 80 characters")
    level: int = Field(ge=1, le=5, description="1 warm-up to 5 hard")
    position: float = Field(default=1000, description="place in the chapter")
    core: bool = Field(default=False, description="part of the core path through the chapter")
    label: str = Field(default="", max_length=20, description="short name, such as ring-02")
    prompt: Markdown = Field(
        description="Markdown; {size} is a drawn value, {when a > b}…{end} a condition, $...$ math"
    )
    given: dict[str, DrawnChoices] = Field(
        default_factory=dict, description="what is drawn: variant 0 takes the first of each"
    )
    cases: list[dict[str, DrawnValue]] = Field(
        default_factory=list, description="values drawn together, one row per variant"
    )
    from_chapter: list[str] = Field(default=[], description="values of the chapter that it uses")
    chapter_parameters: dict[str, ChapterParameter] = Field(
        default_factory=dict, description="those of the chapter; not written in it", repr=False
    )
    exhibits: dict[str, str] = Field(
        default_factory=dict, description="published measurements by name: {table} is the text, table_busbw a quantity"
    )
    let: dict[str, str | int | float] = Field(default_factory=dict, description="named intermediate values")
    where: str = Field(default="", description="a condition that every variant meets")
    hints: list[Markdown] = Field(min_length=2, description="from a nudge to nearly all")
    solution: Markdown = Field(description="the argument, step by step, with the drawn values")
    insight: str = Field(default="", description="what a right answer shows, in a line: the headline of the verdict")
    sources: list[HttpUrl] = Field(min_length=1, description="one or more URLs")
    figures: list[EmbeddedFigures] = Field(default_factory=list, description="explorers, shown once it is solved")
    figure: ExerciseFigure | None = Field(
        default=None, description="drawn under the prompt: what is given, and its shape"
    )
    skills: list[str] = Field(default_factory=list, description="search terms")
    claims: dict[str, Quotes] = Field(
        default_factory=dict, description="condition that holds in every drawing: the words in texts that rely on it"
    )
    fixed: list[str] = Field(
        default_factory=list, description="numbers and comparisons as texts say them that hold whatever is drawn"
    )
    implied: list[str] = Field(
        default_factory=list, description="drawn values that the prompt does not show but implies"
    )
    unmarked: list[str] = Field(
        default_factory=list, description="glossary terms without a tooltip here, since it would give the answer away"
    )
    _language: str = PrivateAttr("en")
    _kept_keys: dict[str, str] = PrivateAttr(default_factory=dict)  # by those of its wordings

    @model_validator(mode="after")
    def _has_its_parameters(self) -> Self:
        refuse_others(self.from_chapter, self.chapter_parameters, self.where)
        return self

    @property
    def language(self) -> str:
        """The language of its texts."""
        return self._language

    def translates(self, wordings: Mapping[str, str], language: str) -> None:
        """Note that its texts are in *language*; *wordings* has them by the original's, whose keys are stored."""
        self._language = language
        self._kept_keys.update({mistake_key(ours): mistake_key(its) for its, ours in wordings.items()})

    def untold(self) -> Iterator[tuple[Where, str]]:
        """Texts, by their place, that are filled with other values than drawn ones."""
        yield from ()

    def kept_key(self, key: str) -> str:
        """The *key* of a wording of this file, as it is stored: in every language the same."""
        return self._kept_keys.get(key, key)

    @classmethod
    def name(cls) -> str:
        """The name of the kind, as files give it under `kind`."""
        return str(get_args(cls.model_fields["kind"].annotation)[0])

    @property
    def minutes(self) -> int:
        """About how long it takes, by its kind and its level."""
        return max(1, round(self.pace * (1 + self.level) / 2))

    @cached_property
    def dotted(self) -> frozenset[str]:
        """Every name with a dot in the file, such as those of formulas."""
        return frozenset(DOTTED.findall(repr(self)))

    @cached_property  # Pydantic's private attributes are looked up twenty times as slowly
    def _draws(self) -> ValueCache[int, Draw]:
        return ValueCache()

    @cached_property
    def _variants(self) -> ValueCache[int, Variant]:
        return ValueCache()

    def draw(self, seed: int) -> Draw:
        """The values that *seed* draws."""
        return self._draws.of(seed, lambda: self._draw(seed))

    def _draw(self, seed: int) -> Draw:
        """The values that *seed* draws, worked out."""
        shared = values(self.chapter_parameters, seed)
        given = {**{name: [shared[name]] for name in self.from_chapter}, **self.given}
        with speaking(SOURCE):  # names of files are filled in, too
            return draw(seed, given, self.cases, self.let, self.where, self.exhibits)

    def variant(self, seed: int) -> Variant:
        """The exercise as *seed* draws it."""
        return self._variants.of(seed, lambda: self._variant(seed))

    def is_drawn(self, seed: int) -> bool:
        """Whether what *seed* draws was worked out lately."""
        return seed in self._variants

    def prepare(self, seed: int) -> None:
        """Work out what *seed* draws, which takes long for a few exercises."""
        self.question(seed)
        self.variant(seed)

    def _variant(self, seed: int) -> Variant:
        drawn = self.draw(seed)
        return Variant(
            drawn,
            self.fill(self.prompt, drawn),
            tuple(self.fill(hint, drawn) for hint in self.hints),
            self.fill(self.solution, self.solved(drawn)),
        )

    def state_of(self, figure: EmbeddedFigures, seed: int) -> Mapping[str, str]:
        """The controls of *figure* as *seed* sets them."""
        drawn = self.draw(seed)
        with speaking(SOURCE):
            return {name: fill(str(text), drawn.names, drawn.shown).strip() for name, text in figure.state.items()}

    def solved(self, drawn: Draw) -> Draw:
        """*drawn* with the other values that the solution may name."""
        return drawn

    def fill(self, text: str, drawn: Draw) -> str:
        """*text* with the drawn values filled in."""
        with speaking(self.language):
            return fill(text, drawn.names, {**drawn.shown, **drawn.listings}).strip()

    @abstractmethod
    def question(self, seed: int) -> object:
        """What the learner answers with: a dataclass of this kind, without the answer."""

    @abstractmethod
    def right_answer(self, seed: int) -> Answer:
        """The right answer, as a learner would submit it."""

    @abstractmethod
    def reveal(self, seed: int) -> str:
        """The right answer as a sentence, in Markdown."""

    @abstractmethod
    def mistakes(self, seed: int) -> Iterator[tuple[Answer, str]]:
        """Each wrong answer that the author listed, with its feedback."""

    @abstractmethod
    async def grade(self, seed: int, answer: Answer, runner: Runner, learner: str = "") -> Verdict:
        """Judge *answer*.

        Raises:
            AnswerError: *answer* cannot be read, which is not the same as wrong.
            UnavailableError: the sandbox that must run it cannot.
        """

    def diagnosis(self, key: str, seed: int) -> str:
        """The feedback on the mistake with that *key*, as *seed* draws it; empty if not known."""
        text = next((one for _, one in self.texts() if self.kept_key(mistake_key(one)) == key), "")
        return self.fill(text, self.solved(self.draw(seed))) if text else common_diagnosis(key)

    @property
    def runs_lab(self) -> str:
        """The lab that measures what is asked; empty if none does."""
        return ""

    @property
    def draws_mistakes(self) -> bool:
        """Whether some wrong answers are drawn beside the right one."""
        return False

    def at_first(self, seed: int) -> PlayedAnswer | None:
        """What is there before an answer is played, for a kind that draws it."""
        return None

    def reached(self, seed: int, answer: Answer) -> int | None:
        """The step that the figure plays to for *answer*, if it plays answers and what it plays was typed.

        Raises:
            AnswerError: *answer* cannot be read.
        """
        return None

    def counted(self, seed: int, answer: Answer) -> CountedParts | None:
        """What a wrong *answer* counts, where the right one adds up parts and it is some of them.

        Raises:
            AnswerError: *answer* cannot be read.
        """
        return None

    @property
    def variation(self) -> str:
        """What another seed changes; empty where all seeds ask the same."""
        drawn = self.given or self.cases or self.from_chapter
        return translate("Draws new numbers.") if drawn else ""

    def answer_in(self, form: Mapping[str, Sequence[str]]) -> Answer:
        """The answer in the fields of a posted form: one field called "answer"."""
        return next(iter(form.get("answer", [])), "")

    def texts(self) -> Iterator[tuple[Where, str]]:
        """Every Markdown text of the file except the solution, with its place."""
        yield ("prompt",), self.prompt
        yield from ((("hints", index), hint) for index, hint in enumerate(self.hints))
        yield ("insight",), self.insight

    def prove(self, drawn: Draw) -> Iterator[Finding]:
        """Problems of one variant that can be found without running code."""
        yield from ()

    def telling(self, seed: int) -> set[str]:
        """Texts that would give the answer away in a hint."""
        return set()

    @property
    def worked_out(self) -> Sequence[str]:
        """Names of values that the file works out, each from those before it."""
        return [*self.let]

    def notes(self) -> Iterator[str]:
        """Remarks for the author, when there are no problems."""
        yield from ()

    async def prove_code(self, seeds: Sequence[int], runner: Runner) -> list[Finding]:
        """Problems of the code in this exercise, found by running it in the sandbox."""
        return []
