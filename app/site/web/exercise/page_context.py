"""What is asked for, and what stands around an exercise: its chapter, the path, other pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from markupsafe import Markup

from app.core.translation import SOURCE, foreign, language, noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import errata_of
from app.course.kinds import Exercise
from app.course.kinds.memo import Remembered
from app.server.db.history import ExerciseHistory
from app.site.web.exercise.facts import FactView, facts_beside
from app.site.web.exercise.posted_form import Fields
from app.site.web.exercise.rules import AssignmentRules
from app.site.web.frame.renderer import Hyperlink, markup
from app.site.web.standing.view import ExercisePath, PathStretch, Standings, mark_of, path_of
from app.site.web.urls import chapter_url, erratum_url, exercise_url

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
    found = PageContext(
        topic=chapter,
        stretch=_stretch(chapter, topic.path, known, here, shared),
        another=again if exercise.variation and not rules.exam else None,
    )
    if asked.fragment:
        return found
    whole = replace(found, place=_place(exercise, topic))
    return whole if rules.exam else _with_explanations(whole, asked, topic)


def describe_page(exercise: Exercise, topic: Topic) -> str:
    """The page of *exercise* in a sentence, for search engines."""
    form = noted("{title}: an exercise of the chapter {chapter}.")
    return translate(form, title=exercise.title, chapter=topic.title)


def _place(exercise: Exercise, topic: Topic) -> str:
    """Where *exercise* stands on the path of *topic*, or that it stands beside it."""
    if exercise not in topic.path:
        return translate("extra")
    place, count = topic.path.index(exercise) + 1, len(topic.path)
    return translate("{place} of {count}", place=place, count=count)


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


@dataclass(frozen=True, slots=True)
class _ChapterPart:
    topic: Hyperlink
    path: ExercisePath
    near: PathStretch
    here: str


class _Stretches(Remembered[tuple[object, ...], Markup]):
    """Those of many learners are the same."""

    most = _STRETCHES


_stretches = _Stretches()


def _stretch(topic: Hyperlink, exercises: Sequence[Exercise], known: Standings, here: str, seed: int) -> Markup:
    """The stretch of the path of *exercises* around *here*."""

    def drawn() -> Markup:
        path = path_of(exercises, known, seed)
        near = path.near(here, _NEAR)
        return markup("exercise/chapter.html", _ChapterPart(topic, path, near, here))

    marks = tuple((one.id, one.digest, mark_of(known.get(one.id))) for one in exercises)
    return _stretches.of((topic, marks, here, seed, language()), drawn)
