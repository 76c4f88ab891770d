"""The ways on that pages offer: an exercise to continue with, the reviews of the day, and a route."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from random import Random

from fastapi import Request, Response

from app.core.translation import noted, translate
from app.course.content.catalog import Catalog, CoursePart, Topic, sections_of
from app.course.content.topic_file import Route
from app.course.learning import Memory, Prerequisites, ReviewSession, Suggestion, next_exercise, review_session
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.view import ChapterCard, LearnerHistory, card_of, path_of
from app.site.web.urls import exercise_url, review_url


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedCard:
    """The card of a chapter, and its number in the course."""

    number: int
    card: ChapterCard


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionCards:
    """A part of the course: its title, a sentence, its chapters, and how much is solved of them.

    The title is empty where the course has no parts.
    """

    title: str
    says: str
    cards: tuple[NumberedCard, ...]

    @property
    def solved(self) -> int:
        """The exercises solved on the paths of its chapters."""
        return sum(one.card.path.solved for one in self.cards)

    @property
    def total(self) -> int:
        """The exercises on the paths of its chapters."""
        return sum(len(one.card.path.rows) for one in self.cards)


def section_cards(course: Catalog, past: LearnerHistory) -> Iterator[SectionCards]:
    """The parts of *course*, with the marks of a learner with that *past*."""
    numbers = {topic.id: number for number, topic in enumerate(course.topics, start=1)}
    sections = tuple(sections_of(course))
    for section in sections:
        title, says = section_words(section.part, is_only=len(sections) == 1)
        cards = (NumberedCard(number=numbers[topic.id], card=card_of(topic, past)) for topic in section.topics)
        yield SectionCards(title=title, says=says, cards=tuple(cards))


def section_words(part: CoursePart | None, *, is_only: bool) -> tuple[str, str]:
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
    review = next_review(session, past.memories[session.left[0].exercise.id]) if session.left else None
    return NextSteps(
        begun=bool(past.answers),
        following=_suggested(following, seed) if following else None,
        review=review,
        is_review_first=bool(review) and (reviewing or _builds_on(course, following, session)),
    )


def next_review(session: ReviewSession, memory: Memory) -> NextReview:
    """The first review that is left of *session*, whose exercise has that *memory*."""
    found = session.left[0]
    exercise = found.exercise
    numbers = _review_seed(exercise.id, memory) if exercise.variation else 0
    return NextReview(
        exercise=SuggestedExercise(review_url(exercise.id, numbers), exercise.title, found.reason),
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
    needs = Prerequisites(course.topics).before[following.exercise.id.partition("/")[0]]
    return any(one.exercise.id.partition("/")[0] in needs for one in session.left)


def _suggested(found: Suggestion, seed: int) -> SuggestedExercise:
    exercise = found.exercise
    href = exercise_url(exercise.id, seed if exercise.from_chapter else 0)
    return SuggestedExercise(href, exercise.title, found.reason)


def _review_seed(exercise: str, memory: Memory) -> int:
    """New numbers for a review, and the same ones until it is done."""
    return 1 + Random(f"{exercise} {memory.last}").randrange(_SEEDS)


ROUTES: Mapping[Route, str] = {
    "train": noted("I train"),
    "serve": noted("I serve"),
    "cluster": noted("I run the cluster"),
}
_COOKIE = "route"
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The route that was started: how many of its chapters are finished or known."""

    link: Hyperlink
    done: int
    total: int


def chosen_route(request: Request) -> str:
    """The route that the visitor has started; empty: none."""
    name = request.cookies.get(_COOKIE, "")
    return name if name in ROUTES else ""


def keep_route(request: Request, response: Response, route: str) -> None:
    """Let the browser keep *route*; an empty one is left."""
    secure = request.url.scheme == "https"
    if route:
        response.set_cookie(_COOKIE, route, _AGE, httponly=True, samesite="lax", secure=secure)
    else:
        response.delete_cookie(_COOKIE)


def route_progress(course: Catalog, past: LearnerHistory) -> RouteProgress | None:
    """How far the learner with that *past* is on their route; None without one."""
    topics = [topic for topic in course.topics if past.route in topic.routes]
    title = next((text for name, text in ROUTES.items() if name == past.route), "")
    if not topics or not title:
        return None
    done = sum(_is_done(topic, past) for topic in topics)
    return RouteProgress(Hyperlink(f"/map?route={past.route}", translate(title)), done, len(topics))


def chapter_on_route(course: Catalog, past: LearnerHistory) -> str:
    """The chapter of the last answer; empty if it is not on the route that was started."""
    here = (topic for topic in course.topics if topic.id == past.chapter)
    is_off = past.route and not any(past.route in topic.routes for topic in here)
    return "" if is_off else past.chapter


def _is_done(topic: Topic, past: LearnerHistory) -> bool:
    return topic.id in past.chapters or path_of(topic.path, past.known).is_finished
