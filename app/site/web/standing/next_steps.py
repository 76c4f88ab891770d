"""The ways on that pages offer: chapters, an exercise to continue with, the reviews of the day, and a route."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

from fastapi import Request, Response

from app.core.errors import NotFoundError, nearest
from app.core.translation import noted, translate
from app.course.content.catalog import Catalog, Topic, sections_of
from app.course.content.outline import CoursePart
from app.course.content.topic_file import Route
from app.course.learning import Memory, Prerequisites, ReviewSession, Suggestion, next_exercise, review_session
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.view import ChapterCard, LearnerHistory, card_of, path_of
from app.site.web.urls import exercise_url, review_url


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionCards:
    """A part of the course: its title, a sentence, its chapters with their numbers, and how much is solved of them.

    The title is empty where the course has no parts.
    """

    title: str
    says: str
    cards: tuple[tuple[int, ChapterCard], ...]

    @property
    def solved(self) -> int:
        """The exercises solved on the paths of its chapters."""
        return sum(card.path.solved for _, card in self.cards)

    @property
    def total(self) -> int:
        """The exercises on the paths of its chapters."""
        return sum(len(card.path.rows) for _, card in self.cards)


def section_cards(course: Catalog, past: LearnerHistory) -> Iterator[SectionCards]:
    """The parts of *course*, with the marks of a learner with that *past*."""
    numbers = {topic.id: number for number, topic in enumerate(course.topics, start=1)}
    sections = tuple(sections_of(course))
    for section in sections:
        title, says = _section_words(section.part, is_only=len(sections) == 1)
        cards = ((numbers[topic.id], card_of(topic, past)) for topic in section.topics)
        yield SectionCards(title=title, says=says, cards=tuple(cards))


@dataclass(frozen=True, slots=True)
class TickSection:
    """A part of the course in the form of the chapters that one knows: of each, its id, its title, and whether."""

    title: str
    ticks: tuple[tuple[str, str, bool], ...]


def chapter_ticks(course: Catalog, known: Collection[str]) -> Iterator[TickSection]:
    """The chapters of each part of *course*, of which those called *known* are ticked."""
    sections = tuple(sections_of(course))
    for section in sections:
        title, _ = _section_words(section.part, is_only=len(sections) == 1)
        yield TickSection(title, tuple((one.id, one.title, one.id in known) for one in section.topics))


def _section_words(part: CoursePart | None, *, is_only: bool) -> tuple[str, str]:
    """The title and the sentence of *part*; of chapters that stand in none, beside others."""
    if part:
        return part.title, part.says
    return ("" if is_only else translate("More chapters")), ""


_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True)
class SuggestedExercise:
    """A suggested exercise, with the reason."""

    href: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NextReview:
    """The first review of the day that is left: its number, how many there are, how long.

    *later*: how many more are due on the days after.
    """

    exercise: SuggestedExercise
    number: int
    total: int
    minutes: int
    later: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NextSteps:
    """What to continue with, and the next review of the day.

    It *is_review_first* where what comes next builds on what is due, and during a review.
    """

    begun: bool
    following: SuggestedExercise | None
    review: NextReview | None
    is_review_first: bool


def next_steps(
    course: Catalog,
    past: LearnerHistory,
    chapter: str,
    today: date,
    *,
    current: str = "",
    seed: int = 0,
    reviewing: bool = False,
) -> NextSteps:
    """The ways on from *chapter* for a learner with that *past*, after the exercise *current*.

    The exercises of a chapter with parameters are drawn with its *seed*.
    """
    solved = past.solved(course)
    following = next_exercise(course, solved, chapter, current, past.chapters, past.route)
    session = review_session(course, past.memories, today)
    review = _next_review(session, past.memories[session.left[0].exercise.id]) if session.left else None
    href = exercise_url(following.exercise.id, seed if following.exercise.from_chapter else 0) if following else ""
    return NextSteps(
        begun=bool(past.answers),
        following=SuggestedExercise(href, following.exercise.title, following.reason) if following else None,
        review=review,
        is_review_first=bool(review) and (reviewing or _builds_on(course, following, session)),
    )


def _next_review(session: ReviewSession, memory: Memory) -> NextReview:
    """The first review that is left of *session*, whose exercise has that *memory*."""
    found = session.left[0]
    exercise = found.exercise
    # New numbers, and the same ones until it is done.
    seed = 1 + Random(f"{exercise.id} {memory.last}").randrange(_SEEDS) if exercise.variation else 0
    return NextReview(
        exercise=SuggestedExercise(review_url(exercise.id, seed), exercise.title, found.reason),
        number=session.done + 1,
        total=session.total,
        minutes=session.minutes,
        later=session.later,
    )


def review_place(course: Catalog, past: LearnerHistory, exercise: str, today: date) -> str:
    """Where *exercise* stands among the reviews of the day, in words; empty if it is none."""
    session = review_session(course, past.memories, today)
    memory = past.memories.get(exercise)
    is_done = memory is not None and memory.first < memory.last == today
    if not is_done and exercise not in (one.exercise.id for one in session.left):
        return ""
    number = session.done if is_done else session.done + 1
    return translate("Review {number} of {total}", number=number, total=session.total)


def _builds_on(course: Catalog, following: Suggestion | None, session: ReviewSession) -> bool:
    """Whether the chapter of *following* builds on one of which something is due."""
    if following is None:
        return False
    needs = Prerequisites(course.topics).before[course.topic_of(following.exercise).id]
    return any(course.topic_of(one.exercise).id in needs for one in session.left)


ROUTES: Mapping[Route, str] = {
    "train": noted("I train"),
    "serve": noted("I serve"),
    "cluster": noted("I run the cluster"),
}
ROUTE_COOKIE = "route"
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The route that was started: how many of its chapters are finished or known."""

    title: str
    done: int
    total: int


def topics_on(course: Catalog, route: str) -> tuple[Topic, ...]:
    """The chapters on *route*; empty: all chapters.

    Raises:
        NotFoundError: the route does not exist.
    """
    if not route:
        return course.topics
    if route not in ROUTES:
        raise NotFoundError(translate("no route is called {name!r}", name=route[:40]) + nearest(route[:40], ROUTES))
    return tuple(topic for topic in course.topics if route in topic.routes)


def route_links(course: Catalog, address: str) -> tuple[Hyperlink, ...]:
    """A link to *address* for each route that has a chapter of *course*."""
    found = ((name, text) for name, text in ROUTES.items() if topics_on(course, name))
    return tuple(Hyperlink(f"{address}?route={name}", translate(text)) for name, text in found)


def chosen_route(request: Request) -> str:
    """The route that the visitor has started; empty: none."""
    return known_route(request.cookies.get(ROUTE_COOKIE, ""))


def known_route(name: str) -> str:
    """*name*, if a route is called so, or empty."""
    return name if name in ROUTES else ""


def keep_route(request: Request, response: Response, route: str) -> None:
    """Let the browser keep *route*; an empty one is left."""
    secure = request.url.scheme == "https"
    if route:
        response.set_cookie(ROUTE_COOKIE, route, _AGE, httponly=True, samesite="lax", secure=secure)
    else:
        response.delete_cookie(ROUTE_COOKIE)


def route_progress(course: Catalog, past: LearnerHistory) -> RouteProgress | None:
    """How far the learner with that *past* is on their route; None without one."""
    title = next((text for name, text in ROUTES.items() if name == past.route), "")
    topics = topics_on(course, past.route) if title else ()
    if not topics:
        return None
    done = [one for one in topics if one.id in past.chapters or path_of(one.path, past.known).is_finished]
    return RouteProgress(translate(title), len(done), len(topics))


def chapter_on_route(course: Catalog, past: LearnerHistory) -> str:
    """The chapter of the last answer; empty if it is not on the route that was started."""
    exercise = course.by_id.get(past.answers[-1].exercise) if past.answers else None
    here = course.topic_of(exercise) if exercise else None
    is_on = here in course.topics and (not past.route or past.route in here.routes) if here else False
    return here.id if here and is_on else ""
