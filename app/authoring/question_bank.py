"""Fixed drawings of exercises for the question banks of other systems: what can be carried over at all.

This is said once, here; `moodle` and `qti` write it down. What only a server can judge is refused with the reason, and
what a format leaves behind is listed by its writer.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from app.core.errors import AppError
from app.core.units.scales import Scale
from app.course.kinds import Exercise
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.choice import Choice
from app.course.kinds.code.buggy_line import BuggyLine
from app.course.kinds.numeric import Numeric
from app.course.kinds.order import Match, Order

IMAGE = re.compile(r'(<img src=")(/images/([^/"]+/([^"]+)))"')
_INSIDE = re.compile(r'<a href="(/[^"]*)">(.*?)</a>', re.DOTALL)


class NotPortableError(AppError):
    """Another system could not judge an exercise as we do; the message says why."""


@dataclass(frozen=True, slots=True)
class WrongNumber:
    """A foreseen mistake: its *value*, how far *near* it is told the same, and the share of the points it is worth."""

    value: float
    near: float
    share: float
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberField:
    """A number that is asked for. Every value is in the unit that is asked for; *low* to *high* is right."""

    name: str
    title: str
    scale: Scale
    low: float
    high: float
    right: float
    praise: str
    wrong: tuple[WrongNumber, ...]


@dataclass(frozen=True, slots=True)
class NumberBody:
    """One number or several, each worth the same."""

    fields: tuple[NumberField, ...]


@dataclass(frozen=True, slots=True)
class BankOption:
    """Something to choose, and the *share* of the points that it is worth where it is not right."""

    key: str
    text: str
    is_right: bool
    share: float
    says: str


@dataclass(frozen=True, slots=True)
class OptionBody:
    """Options, one of which is right, or any number if *many*; the lines of a listing are not *shuffled*."""

    options: tuple[BankOption, ...]
    many: bool = False
    shuffled: bool = True


@dataclass(frozen=True, slots=True)
class BankThing:
    """Something with one or more right *partners*, and what is said of wrong ones."""

    key: str
    text: str
    partners: tuple[str, ...]
    says: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PairBody:
    """Things to match with *partners*, a text by its key; one may go with several things, or with none."""

    things: tuple[BankThing, ...]
    partners: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StepBody:
    """Steps in the one right order, a text by its key, and the keys as they are shown at first."""

    steps: Mapping[str, str]
    shown: tuple[str, ...]
    has_feedback: bool


QuestionBody: TypeAlias = NumberBody | OptionBody | PairBody | StepBody


@dataclass(frozen=True, slots=True, kw_only=True)
class BankQuestion:
    """A drawing of an exercise; texts are Markdown."""

    id: str
    title: str
    prompt: str
    hints: tuple[str, ...]
    solution: str
    tags: tuple[str, ...]
    body: QuestionBody
    without: tuple[str, ...]  # what no format carries over


def bank_question(exercise: Exercise, seed: int) -> BankQuestion:
    """The drawing of *exercise* by *seed*.

    Raises:
        NotPortableError: only a server can judge it.
    """
    body = _body(exercise, seed)
    variant = exercise.variant(seed)
    asked = exercise.answers if isinstance(exercise, Numeric) else {}
    builds = any(re.search(rf"(?<![\w.]){name}(?![\w.(])", one.answer) for one in asked.values() for name in asked)
    left = (
        (exercise.figure is not None, "the figure under the prompt"),
        (builds, "points for a part that is right by a wrong earlier one"),
    )
    return BankQuestion(
        id=f"{exercise.id}#{seed}",
        title=f"{exercise.title} ({seed})" if exercise.variation else exercise.title,
        prompt=variant.prompt,
        hints=variant.hints,
        solution=variant.solution,
        tags=("wallclock", exercise.id.partition("/")[0], *exercise.skills),
        body=body,
        without=tuple(says for is_left, says in left if is_left),
    )


def other_units(body: NumberBody) -> tuple[str, ...]:
    """What a question is without whose numbers must be typed in the units that are asked for."""
    return ("units of other sizes",) if any(one.scale.symbol for one in body.fields) else ()


def place_links(html: str, address: str) -> str:
    """*html* with links into this site as whole addresses, or as their words alone if there is no *address*."""
    return _INSIDE.sub(lambda found: f'<a href="{address}{found[1]}">{found[2]}</a>' if address else found[2], html)


def _body(exercise: Exercise, seed: int) -> QuestionBody:
    match exercise:
        case Numeric():
            keys = exercise.keys(seed).items()
            titles = {name: exercise.title_of(name, seed) if exercise.answers else "" for name, _ in keys}
            return NumberBody(tuple(_number_field(name, key, titles[name]) for name, key in keys))
        case Choice():
            return _option_body(exercise, seed)
        case Match():
            return _pair_body(exercise, seed)
        case Order():
            return _step_body(exercise, seed)
        case BuggyLine():
            return OptionBody(tuple(_line_options(exercise, seed)), shuffled=False)
        case _:
            raise NotPortableError(f"{exercise.kind_title.lower()}: only a server can judge it")


def _number_field(name: str, key: AnswerKey, title: str) -> NumberField:
    factor = key.asked.scale.factor
    wrong = (
        WrongNumber(value / factor, min(key.asked.slack(value), abs(value) / 10) / factor, mistake.score, says)
        for mistake, (value, says) in zip(key.listed.values(), key.mistakes, strict=True)
    )
    return NumberField(
        name=name,
        title=title,
        scale=key.asked.scale,
        low=key.low / factor,
        high=key.high / factor,
        right=key.right / factor,
        praise=key.praise(),
        wrong=tuple(wrong),
    )


def _option_body(exercise: Choice, seed: int) -> QuestionBody:
    right, drawn, found = exercise.right(seed), exercise.draw(seed), []
    for shown in exercise.question(seed).options:
        option, is_right = exercise.options[shown.key], shown.key in right
        found.append(BankOption(shown.key, shown.text, is_right, option.score, exercise.fill(option.says, drawn)))
    return OptionBody(tuple(found), exercise.many)


def _line_options(exercise: BuggyLine, seed: int) -> Iterator[BankOption]:
    right, drawn = exercise.right_answer(seed), exercise.draw(seed)
    for number, line in enumerate(exercise.question(seed).lines, 1):
        if line.strip():
            is_bug = str(number) == right
            says = exercise.bug(seed).says if is_bug else exercise.elsewhere.get(number, "")
            yield BankOption(str(number), f"    {number:>2}  {line}", is_bug, 0.0, exercise.fill(says, drawn))


def _pair_body(exercise: Match, seed: int) -> QuestionBody:
    drawn, question, found = exercise.draw(seed), exercise.question(seed), []
    for shown in question.things:
        thing = exercise.things[shown.key]
        says = {key: exercise.fill(text, drawn) for key, text in thing.says.items()}
        found.append(BankThing(shown.key, shown.text, tuple(thing.partners), says))
    return PairBody(tuple(found), {shown.key: shown.text for shown in question.partners})


def _step_body(exercise: Order, seed: int) -> QuestionBody:
    count, drawn = len(exercise.items), exercise.draw(seed)
    if exercise.strangers:
        raise NotPortableError("order: it has statements that belong nowhere")
    if len(exercise.before) < count * (count - 1) // 2:
        raise NotPortableError("order: several orders are right, and other systems know one")
    steps = {key: exercise.fill(step.text, drawn) for key, step in exercise.items.items()}
    return StepBody(steps, tuple(item.key for item in exercise.question(seed).items), bool(exercise.says))
