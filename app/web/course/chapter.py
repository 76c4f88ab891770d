"""The page of a chapter: its subject, its numbered path, and what one can compute at its end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from markupsafe import Markup

from app.charts.card import Card
from app.content.catalog import Topic
from app.content.glossary import mark
from app.db.history import Effort
from app.db.queries import efforts, last_right_answers
from app.db.tables import Attempt
from app.explorers import EXPLORERS
from app.markdown import html
from app.network.routes import Router
from app.site import Here, Site
from app.translation import foreign, translate
from app.web.exercise.views import view_of
from app.web.explore.figures import EmbeddedView, embedded_view
from app.web.frame.preview import plain_words, preview_of
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.frame.resource import LearningResource
from app.web.frame.visitor import Visiting
from app.web.standing.chapter_choice import ChoiceForm, choice_form, chosen_here, seed_here
from app.web.standing.history import past_of
from app.web.standing.onward import Onward, onward_for
from app.web.standing.veil import open_history
from app.web.standing.view import ExerciseRow, Past, Path, clock, path_of, row_of
from app.web.urls import chapter_url, exercise_url, explorer_url

router = Router(prefix="/chapters")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A right answer of the learner, the number of answers that it took, and the time."""

    row: ExerciseRow
    href: str
    answer: tuple[Markup, ...]
    answers: int
    right: int
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterPage:
    """One chapter."""

    number: int
    title: str
    lang: str
    opening: Markup
    reading: int
    closing: Markup
    path: Path
    total: int
    extras: Path
    onward: Onward
    results: tuple[Result, ...]
    choice: ChoiceForm | None
    explorers: tuple[Hyperlink, ...]
    figures: tuple[EmbeddedView, ...]
    earlier: Hyperlink | None
    later: Hyperlink | None


@router.get("/{name}")
async def chapter(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One chapter."""
    topic = site.catalog.topic(name)
    if response := chosen_here(topic, request):
        return response
    seed = seed_here(topic, request) or _last_seed(site, topic, visiting.learner)
    choice = choice_form(topic, request, seed)
    past = past_of(site, visiting.learner)
    page = _page(site, topic, past, visiting.learner, choice, seed)
    preview = preview_of(chapter_url(topic.id), chapter_card(topic))
    resource = LearningResource(
        sort="chapter",
        name=topic.title,
        says=topic.summary,
        path=chapter_url(topic.id),
        parts=tuple((exercise_url(one.id), one.title) for one in topic.exercises),
    )
    around = frame(request, topic.title, topic.summary, "exercises", preview, resource=resource)
    return render("course/chapter.html", around, page, 422 if choice and choice.faults else 200)


def chapter_card(topic: Topic) -> Card:
    """A chapter in a sentence."""
    count = len(topic.exercises)
    return Card(
        kicker=f"{count} {'exercise' if count == 1 else 'exercises'}",
        title=topic.title,
        says=plain_words(topic.summary),
    )


def _last_seed(site: Site, topic: Topic, learner: str) -> int:
    """The seed of *learner*'s last right answer in *topic*, whose numbers they set; else 0."""
    if not topic.parameters or not learner:
        return 0
    with open_history(site, learner) as session:
        found = last_right_answers(session, learner, [one.id for one in topic.exercises])
    latest = max(found.values(), key=lambda attempt: attempt.at, default=None)
    return latest.seed if latest else 0


def _page(
    site: Site, topic: Topic, past: Past, learner: str, choice: ChoiceForm | None, seed: int
) -> ChapterPage:
    path = path_of(topic.path, past.known, seed)
    topics = site.catalog.topics
    place = topics.index(topic) if topic in topics else -1  # hidden by a course pack
    beside = [Hyperlink(chapter_url(t.id), t.title) for t in topics]
    explorers = (one for one in EXPLORERS.values() if one.chapter == topic.id)
    figures = (
        (one, {name: str(text) for name, text in one.state.items()}) for one in topic.figures
    )
    return ChapterPage(
        number=place + 1,
        title=topic.title,
        lang=foreign(topic.language),
        opening=mark(html(topic.opening)),
        reading=topic.reading,
        closing=mark(html(topic.closing)),
        path=path,
        total=sum(row.minutes for row in path.rows),
        extras=path_of(topic.extras, past.known, seed),
        onward=onward_for(site, past.within(topic.id), topic.id, seed=seed),
        results=tuple(_results(site, topic, past, learner)) if path.is_finished else (),
        choice=choice,
        explorers=tuple(
            Hyperlink(explorer_url(one.name), translate(one.title)) for one in explorers
        ),
        figures=tuple(embedded_view(one, state) for one, state in figures),
        earlier=beside[place - 1] if place > 0 else None,
        later=beside[place + 1] if 0 <= place < len(topics) - 1 else None,
    )


def _results(site: Site, topic: Topic, past: Past, learner: str) -> Iterator[Result]:
    """What *learner* has computed on the path of *topic*."""
    right, took = _worked(site, learner, [one.id for one in topic.path])
    for exercise in topic.path:
        if attempt := right.get(exercise.id):
            effort = took[exercise.id]
            yield Result(
                row=row_of(exercise, past.known),
                href=exercise_url(exercise.id, attempt.seed),
                answer=tuple(view_of(exercise).told(exercise, attempt.seed, attempt.answer)),
                answers=effort.answers,
                right=effort.right,
                time=clock([effort.seconds]),
            )


def _worked(
    site: Site, learner: str, exercises: Sequence[str]
) -> tuple[Mapping[str, Attempt], Mapping[str, Effort]]:
    with open_history(site, learner) as session:
        return last_right_answers(session, learner, exercises), efforts(session, learner)
