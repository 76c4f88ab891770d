"""The base of every kind of exercise, and of every part of its file."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Self, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, HttpUrl, model_validator

from app.core.expressions import fill
from app.core.translation import SOURCE, speaking, translate
from app.course.kinds.answers import Answer, CountedParts, PlayedAnswer, Verdict, Worded, common_diagnosis, mistake_key
from app.course.kinds.drawn_values import Draw, DrawnChoices, DrawnValue, draw
from app.course.kinds.parameters import ChapterParameter, refuse_others, values
from app.course.sandbox.runner import Runner

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


class Remembered(dict[_K, _V]):
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


class Embedded(Strict):
    """Figures of an explorer in a state that is fixed, or filled with an exercise's values."""

    explorer: str = Field(description="its name, as in /explore/pipeline")
    state: dict[str, str | int | float] = Field(
        default_factory=dict, description='controls by name; in an exercise "{p}" is a drawn value'
    )
    figure: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="which of its figures, from 0; all if omitted"
    )
    predict: bool = Field(default=False, description="ask for a number before it is shown")


class Illustrated(Strict):
    """A figure of what is asked, drawn with the values of an exercise; it shows no result."""

    draws: str = Field(description="its name: /authoring lists them")
    given: dict[str, str | int | float] = Field(
        default_factory=dict, alias="with", description="its inputs: expressions of drawn values"
    )


SEEDS = 2**31  # 0 to 2**31 - 1
_DOTTED = re.compile(r"(?<!\w)[a-z]\w*+(?:\.[a-z]\w*+)+")

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


class Base(Strict, Worded, ABC):
    """One exercise; everything it shows and every verdict depend on its file and a seed alone.

    Each kind sets the class variables; the rest of the site asks them, never the kind's name.
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
    sources: list[HttpUrl] = Field(min_length=1, description="one or more URLs")
    figures: list[Embedded] = Field(default_factory=list, description="explorers, shown once it is solved")
    figure: Illustrated | None = Field(default=None, description="drawn under the prompt: what is given, and its shape")
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

    @model_validator(mode="after")
    def _has_its_parameters(self) -> Self:
        refuse_others(self.from_chapter, self.chapter_parameters, self.where)
        return self

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
        return frozenset(_DOTTED.findall(repr(self)))

    @cached_property  # Pydantic's private attributes are looked up twenty times as slowly
    def _draws(self) -> Remembered[int, Draw]:
        return Remembered()

    @cached_property
    def _variants(self) -> Remembered[int, Variant]:
        return Remembered()

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

    def state_of(self, figure: Embedded, seed: int) -> Mapping[str, str]:
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
