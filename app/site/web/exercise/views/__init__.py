"""How each kind is answered on a page: what its form shows, and what its own buttons do."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, get_args

from markupsafe import Markup, escape

from app.core.quotation import visible, visible_lines
from app.core.translation import plural, translate
from app.course.kinds import Base, Exercise
from app.course.kinds.base import Answer, PartVerdict, refuse_longer
from app.course.sandbox.runner import Runner
from app.site.markdown import inline_html
from app.site.web.exercise.page_context import ActionResult, Fields, PostedForm, first_value

if TYPE_CHECKING:
    from app.course.sandbox.pool import SandboxHealth
    from app.labs.results.report import Report
    from app.site.web.labs.results import RunResult

E = TypeVar("E", bound=Base)
_LINE = 120  # characters of a typed answer in a list
_SHOWN = 4_000  # characters of an earlier program; the export has all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class FormContext:
    """What a form shows beside its exercise: the *health* of the sandbox, and of a lab what is stored for one learner.

    That is the *locked* prediction, and what was measured; *tests* may be taken for the measurement: by name, as runs,
    with what they are and whose. *trouble*: why this server runs no labs; it has *gpus*.
    """

    health: "SandboxHealth | None" = None
    locked: Mapping[str, str] = field(default_factory=dict)
    runs: "Sequence[RunResult]" = ()
    tests: "Mapping[str, tuple[Report, str, str]]" = field(default_factory=dict)
    trouble: str = ""
    gpus: int = 0


NO_CONTEXT = FormContext()


class KindTools(Protocol):
    """What a kind may use beside the exercise, for the learner who asks."""

    @property
    def answer_limit(self) -> int:
        """Characters of an answer."""

    @property
    def health(self) -> "SandboxHealth":
        """Whether programs can run."""

    @property
    def runner(self) -> Runner:
        """Runs programs."""

    @property
    def lab_trouble(self) -> str:
        """Why labs do not run; empty if they do."""

    @property
    def gpus(self) -> int:
        """The GPUs that labs can use."""

    def runs(self, lab: str) -> "Sequence[RunResult]":
        """The runs of a lab that are finished."""

    def tests(self) -> "Mapping[str, tuple[Report, str, str]]":
        """Tests that may be taken for a measurement: by name, as runs, what they are, and whose."""

    def prediction(self, exercise: str, seed: int) -> str | None:
        """The prediction of the learner for a drawing, as JSON."""

    async def replace_prediction(self, exercise: str, seed: int, gone: str, answer: str) -> None:
        """Store the prediction *answer*; an earlier one stays, unless it is the one that is *gone*.

        Raises:
            UnavailableError: it cannot be stored.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class FormInput:
    """A drawing, the fields that were filled in, and the verdicts on them."""

    seed: int
    learner: str
    given: Fields
    parts: Mapping[str, PartVerdict]
    graded: bool  # the answer was graded, or the solution is shown
    correct: bool | None = None  # the whole answer; None before it is judged
    context: FormContext = NO_CONTEXT

    def is_right(self, part: str) -> bool | None:
        """The verdict on one part; None where there is none."""
        judged = self.parts.get(part)
        return judged.correct if judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherForm:
    """A second form of the page, whose button stands in the first one."""

    id: str
    action: str
    hidden: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the template of a kind shows; each kind adds its own fields."""

    whole_page: bool = False  # an answer changes more of the page than the verdict
    score: str = ""  # beside a verdict that is not all right
    retry: str = ""  # a link to another drawing, under a wrong answer that stays as it is
    other: OtherForm | None = None
    script: str = ""  # a file of static/ that this form needs
    has_code: bool = False  # it shows code as soon as the page opens

    @property
    def marks(self) -> Mapping[str, bool]:
        """The verdict on each field that has one of its own, by the name of the field."""
        return {}


class KindView(ABC, Generic[E]):
    """One kind of exercise on a page."""

    is_slow: ClassVar[bool] = False  # its form takes too long for the event loop

    def context(self, exercise: E, seed: int, tools: KindTools, *, graded: bool) -> FormContext:
        """What the form shows beside *exercise*, which may be *graded* already."""
        return NO_CONTEXT

    @abstractmethod
    def form(self, exercise: E, filled: FormInput) -> Form:
        """The form of *exercise*, with the fields *filled* in before."""

    async def act(self, exercise: E, posted: PostedForm, tools: KindTools) -> ActionResult | None:
        """The result of a button that this kind alone has; None for any other button."""
        return None

    def answer(self, exercise: E, posted: PostedForm, tools: KindTools) -> Answer:
        """The answer in a posted form.

        Raises:
            AnswerError: there is none.
        """
        return exercise.answer_in(posted.given)

    def told(self, exercise: E, seed: int, stored: str) -> Iterator[Markup]:
        """The parts of a *stored* answer, as its learner saw them."""
        yield typed_line(stored)


class CodeView(KindView[E]):
    """A kind that asks for a program: an editor, and a button that runs it."""

    def context(self, exercise: E, seed: int, tools: KindTools, *, graded: bool) -> FormContext:
        """Whether code can run."""
        return FormContext(health=tools.health)

    async def act(self, exercise: E, posted: PostedForm, tools: KindTools) -> ActionResult | None:
        """Run the program.

        Raises:
            AnswerError: there is nothing to run.
            TooLongError: the program has more characters than the settings allow.
            UnavailableError: the sandbox cannot run it.
        """
        if posted.action != "run":
            return None
        source = first_value(posted.given, "answer")
        refuse_longer(source, tools.answer_limit)
        return await self.run(exercise, source, posted, tools.runner)

    @abstractmethod
    async def run(self, exercise: E, source: str, posted: PostedForm, runner: Runner) -> ActionResult:
        """What *source* does."""

    def told(self, exercise: E, seed: int, stored: str) -> Iterator[Markup]:
        """The program, folded to the number of its lines."""
        yield _folded_program(stored)


def answer_line(title: Markup, text: Markup) -> Markup:
    """*text* after the *title* of its box."""
    return Markup(translate("{name}: {problem}", name=title, problem=text))


def typed_line(text: str) -> Markup:
    """What was typed, on one line that is not too long."""
    line = visible(" ".join(text.split()))
    shown = line if len(line) <= _LINE else f"{line[: _LINE - 1].rstrip()}…"
    return Markup(f"<code>{escape(shown)}</code>")


def _folded_program(stored: str) -> Markup:
    """An earlier program, folded to the number of its lines."""
    count = len(stored.strip().splitlines())
    lines = plural("1 line", "{number:,} lines", count)
    whole = stored if len(stored) <= _SHOWN else f"{stored[:_SHOWN]}…"
    says = translate("a program of {lines}", lines=lines)
    text = "<details><summary>{}</summary><pre>{}</pre></details>"
    return Markup(text).format(says, visible_lines(whole))


def stored_names(stored: str) -> Mapping[str, str]:
    """The texts of a *stored* answer by name; empty if it is not one with names."""
    read = _read_views(stored)
    return {str(k): str(v) for k, v in read.items()} if isinstance(read, dict) else {}


def stored_list(stored: str) -> list[str]:
    """The texts of a *stored* answer that is a list; empty if it is not one."""
    read = _read_views(stored)
    return [str(one) for one in read] if isinstance(read, list) else []


def _read_views(stored: str) -> object:
    try:
        return json.loads(stored)
    except (ValueError, RecursionError):
        return None


def inline(text: str) -> Markup:
    """Markdown of an exercise file in a line of a form."""
    return inline_html(text.strip())


def _kind_of(view: KindView[Any]) -> str:
    """The kind that the class of *view* names: KindView[Numeric]."""
    (kind,) = get_args(vars(type(view))["__orig_bases__"][0])
    name: str = kind.name()
    return name


# Any: mypy cannot know that the view found by a kind's name takes exercises of that kind.
_VIEWS: Mapping[str, KindView[Any]] = {
    _kind_of(view): view
    for module in ("forms", "lab", "schedule")
    for view in import_module(f"{__name__}.{module}").VIEWS
}


def view_of(exercise: Exercise) -> KindView[Any]:
    """The view of the kind of *exercise*."""
    return _VIEWS[exercise.kind]
