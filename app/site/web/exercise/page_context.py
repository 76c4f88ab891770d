"""What an exercise's page asks for, what stands around it, the rules of assignments, and its form."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

from fastapi import Request
from markupsafe import Markup

from app.core.errors import AnswerError, UnavailableError, sentence
from app.core.formulas import FORMULAS
from app.core.translation import SOURCE, foreign, language, noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import errata_of
from app.course.kinds import Exercise
from app.course.kinds.base import PlayedAnswer, TooLongError, ValueCache, Verdict
from app.course.kinds.code.function import Trial
from app.server.aside.fair_queue import Client
from app.server.db.history import ExerciseHistory
from app.site.members import SignedIn
from app.site.web.frame.renderer import Hyperlink, markup
from app.site.web.standing.view import Standings, mark_of, path_of
from app.site.web.urls import chapter_url, erratum_url, exercise_url, formula_url


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentBanner:
    """An assignment above its exercise; *ends*: when the clock of an exam stops.

    *skip* is where a question of the placement or of a final can be passed over.
    """

    title: str
    href: str
    place: str
    says: tuple[str, ...]
    warns: str
    ends: datetime | None
    following: Hyperlink | None
    kind: str = "Assignment"
    skip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentRules:
    """What assignments say; *hints*, *solution* and *verdict* are why those are refused, if so.

    *redirect_to* is the page of an assignment that has to be opened first.
    """

    banners: tuple[AssignmentBanner, ...] = ()
    hints: str = ""
    solution: str = ""
    verdict: str = ""
    exam: bool = False
    redirect_to: str = ""

    def refusal(self, action: str) -> str:
        """Why the button *action* is refused; empty if it is not."""
        return {"hint": self.hints, "solution": self.solution}.get(action, "")


FREE = AssignmentRules()


class Assignments:
    """What assignments say about exercises; without the part `app.classes`, which has them, nothing is refused."""

    def rules_of(self, history: ExerciseHistory, seed: int) -> AssignmentRules:
        """What is refused on the drawing with *seed*, without the banners above it."""
        return FREE

    def rules_with_banners(
        self, course: Catalog, person: SignedIn, history: ExerciseHistory, seed: int
    ) -> AssignmentRules:
        """What they say about the drawing with *seed* to *person*, who has this *history*."""
        return FREE


def assignments_in(request: Request) -> Assignments:
    """The assignments of the site that serves *request*."""
    found: Assignments = request.app.state.assignments
    return found


_LONGEST_SITTING = 4 * 3600  # seconds; a page left open overnight says nothing
_LONGEST_CLOCK = 12  # figures
_LOST = noted("Your answer is still here, and no attempt was recorded.")
LONG = 4_000  # characters of a form, from which on its page takes long
Fields = Mapping[str, Sequence[str]]  # the fields of a posted form
AnswerState = Literal["none", "correct", "partial", "incorrect", "recorded", "refused", "unreadable", "unavailable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedForm:
    """A posted form, and the learner who sent it."""

    seed: int
    learner: str
    client: Client
    given: Fields

    @property
    def size(self) -> int:
        """Characters of all fields."""
        return form_size(self.given)

    @property
    def action(self) -> str:
        """The button that was pressed."""
        return first_value(self.given, "action") or "check"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of a button."""

    verdict: Verdict | None = None
    trial: Trial | None = None
    played: PlayedAnswer | None = None
    state: AnswerState = "none"
    says: str = ""
    status: int = 200


def unreadable(error: AnswerError | TooLongError) -> ActionResult:
    """An answer that cannot be read: neither graded nor stored."""
    return ActionResult(
        state="unreadable", says=sentence(str(error)), status=413 if isinstance(error, TooLongError) else 200
    )


def unavailable(error: UnavailableError) -> ActionResult:
    """Something is out of order; the answer stays in the form."""
    says = f"{sentence(str(error))} {translate(_LOST)}"
    return ActionResult(state="unavailable", says=says, status=503)


def form_size(given: Fields) -> int:
    """Characters of all fields."""
    return sum(len(text) for texts in given.values() for text in texts)


def first_value(given: Fields, field: str) -> str:
    """The first value of *field*; empty where there is none."""
    return next(iter(given.get(field, ())), "")


def fields_of(pairs: Iterable[tuple[str, object]]) -> Fields:
    """The fields in *pairs* that are texts, not files."""
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        if isinstance(value, str):
            # Browsers send every line break as two characters.
            fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return fields


def begun_at(given: Fields) -> int:
    """When the page of a posted form was opened, in seconds since 1970; 0 where it does not say."""
    text = first_value(given, "begun")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_CLOCK else 0


def seconds_on(given: Fields, now: datetime) -> float | None:
    """How long the page was open, where that is plausible."""
    begun = begun_at(given)
    seconds = now.timestamp() - begun
    return seconds if begun and 0 <= seconds <= _LONGEST_SITTING else None


_NUMBER = re.compile(r"\d[\d.,]*")


class FactView(NamedTuple):
    """A fact, and the page that explains it."""

    name: str
    says: str
    href: str


def facts_beside(exercise: Exercise, topic: Topic, seed: int) -> Iterator[FactView]:
    """The facts of *topic* that do not give *exercise* away, as *seed* draws it.

    A formula is left out if the exercise builds on it or on one of the same module, or if it asks
    for anything but numbers; a constant, if it is an answer.
    """
    used = {_module(name) for name in exercise.dotted if name in FORMULAS}
    telling = exercise.telling(seed) if exercise.asks_for_numbers else set()
    for fact in topic.facts:
        if fact.formula and (not exercise.asks_for_numbers or _module(fact.formula) in used):
            continue
        if telling.isdisjoint(_NUMBER.findall(fact.says)):
            yield FactView(fact.name, fact.says, formula_url(fact.formula) if fact.formula else fact.see)


def _module(formula: str) -> str:
    return FORMULAS[formula].function.__module__


_NEAR = 7  # exercises of the path that are listed beside one
_STRETCHES = 1_000  # that are cached, of about 2 kB


@dataclass(frozen=True, slots=True, kw_only=True)
class ExerciseRequest:
    """A drawing of an exercise that *learner* asks for at a *moment*, with the fields *given*.

    *history*: what the learner has done until now; *history_before*: what until the answer that was
    given. A *fragment*: the verdict and what changes with it, without the question.
    """

    exercise: Exercise
    seed: int
    learner: str
    moment: datetime
    history: ExerciseHistory
    history_before: ExerciseHistory
    given: Fields = field(default_factory=dict)
    fragment: bool = False
    reviewing: bool = False
    route: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """The chapter and the *stretch* of its path, and links to other pages.

    *primer*: minutes to read it first.
    """

    topic: Hyperlink
    stretch: Markup
    another: Hyperlink | None
    practice: str = ""
    place: str = ""
    primer: int = 0
    facts: tuple[FactView, ...] = ()
    sources: tuple[Hyperlink, ...] = ()
    errata: tuple[Hyperlink, ...] = ()


def page_context(course: Catalog, asked: ExerciseRequest, topic: Topic, rules: AssignmentRules) -> PageContext:
    """What stands around the exercise; in an exam, nothing that explains it."""
    exercise, known = asked.exercise, asked.history.known
    shared = asked.seed if exercise.from_chapter else 0  # with the others of the chapter
    chapter = Hyperlink(chapter_url(topic.id, shared), topic.title)
    here = exercise_url(exercise.id, shared)
    again = Hyperlink(f"{exercise_url(exercise.id)}/another", exercise.variation)
    is_free = not (rules.exam or rules.banners)
    found = PageContext(
        topic=chapter,
        stretch=_stretch(chapter, topic.path, known, here, shared),
        another=again if exercise.variation and not rules.exam else None,
        practice=f"{chapter_url(topic.id)}/practice?after={exercise.id}" if is_free and topic.extras else "",
    )
    if asked.fragment:
        return found
    place = translate("practice")
    if exercise in topic.path:
        number = topic.path.index(exercise) + 1
        place = translate("{place} of {count}", place=number, count=len(topic.path))
    whole = replace(found, place=place)
    return whole if rules.exam else _with_explanations(whole, asked, topic)


def _with_explanations(whole: PageContext, asked: ExerciseRequest, topic: Topic) -> PageContext:
    """The context with what explains the exercise."""
    exercise, known = asked.exercise, asked.history.known
    in_english = foreign(SOURCE)  # errata are
    is_new = not any(one.id in known for one in topic.exercises)
    return replace(
        whole,
        primer=topic.reading if is_new else 0,
        facts=tuple(facts_beside(exercise, topic, asked.seed)),
        sources=tuple(Hyperlink(str(url), str(url).split("//", 1)[1]) for url in exercise.sources),
        errata=tuple(Hyperlink(erratum_url(e.id), e.title, in_english) for e in errata_of(exercise.id)),
    )


class _Stretches(ValueCache[tuple[object, ...], Markup]):
    """Those of many learners are the same."""

    most = _STRETCHES


_stretches = _Stretches()


def _stretch(topic: Hyperlink, exercises: Sequence[Exercise], known: Standings, here: str, seed: int) -> Markup:
    """The stretch of the path of *exercises* around *here*."""

    def drawn() -> Markup:
        path = path_of(exercises, known, seed)
        return markup("exercise/chapter.html", path.near(here, _NEAR), topic=topic, path=path, here=here)

    marks = tuple((one.id, one.digest, mark_of(known.get(one.id))) for one in exercises)
    return _stretches.of((topic, marks, here, seed, language()), drawn)
