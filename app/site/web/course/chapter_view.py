"""The page of a chapter as plain values: its numbered path, and what the learner computed on it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from markupsafe import Markup

from app.core.translation import foreign, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.glossary import mark
from app.course.explorers import explorer_pages
from app.server.db.history import Effort
from app.server.db.tables import Attempt
from app.site.markdown import html
from app.site.web.course.opening_view import OpeningView, opening_views, unplaced_figures
from app.site.web.exercise.views import view_of
from app.site.web.explore.figures import EmbeddedView
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.chapter_choice import ChapterChoiceForm
from app.site.web.standing.next_steps import NextSteps, next_steps
from app.site.web.standing.view import ExercisePath, ExerciseRow, LearnerHistory, clock, path_of, row_of
from app.site.web.urls import chapter_url, exercise_url, explorer_url


@dataclass(frozen=True, slots=True, kw_only=True)
class ChapterResult:
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
    part: str
    title: str
    href: str
    lang: str
    opening: tuple[OpeningView, ...]
    reading: int
    closing: Markup
    path: ExercisePath
    total: int
    extras: ExercisePath
    onward: NextSteps
    results: tuple[ChapterResult, ...]
    choice: ChapterChoiceForm | None
    explorers: tuple[Hyperlink, ...]
    figures: tuple[EmbeddedView, ...]
    earlier: Hyperlink | None
    later: Hyperlink | None

    def has(self, tag: str) -> bool:
        """Whether the text of the opening has an element *tag*."""
        return any(f"<{tag}" in part.text for part in self.opening)

    @property
    def draws(self) -> bool:
        """Whether the page has a figure or a form to predict."""
        return bool(self.figures) or any(not part.text for part in self.opening)


@dataclass(frozen=True, slots=True)
class ChapterWork:
    """A learner's last right answer to each exercise of a chapter, and the effort on each."""

    right: Mapping[str, Attempt] = field(default_factory=dict)
    efforts: Mapping[str, Effort] = field(default_factory=dict)

    @property
    def last_seed(self) -> int:
        """The seed of the last right answer; 0 before there is one."""
        latest = max(self.right.values(), key=lambda attempt: attempt.at, default=None)
        return latest.seed if latest else 0


def chapter_page(
    course: Catalog,
    topic: Topic,
    past: LearnerHistory,
    work: ChapterWork,
    today: date,
    *,
    choice: ChapterChoiceForm | None,
    seed: int,
    typed: Mapping[str, str],
) -> ChapterPage:
    """The page of *topic* for a learner with that *past*, who has done that *work* in it.

    *typed* are the predictions in the address, by the fields of the opening.
    """
    path = path_of(topic.path, past.known, seed)
    topics = course.topics
    place = topics.index(topic) if topic in topics else -1  # hidden by a course pack
    beside = [Hyperlink(chapter_url(t.id), t.title) for t in topics]
    explorers = (one for one in explorer_pages() if one.chapter == topic.id)
    return ChapterPage(
        number=place + 1,
        part=course.part_title(topic),
        title=topic.title,
        href=chapter_url(topic.id),
        lang=foreign(topic.language),
        opening=tuple(opening_views(topic, typed)),
        reading=topic.reading,
        closing=mark(html(topic.closing)),
        path=path,
        total=sum(row.minutes for row in path.rows),
        extras=path_of(topic.extras, past.known, seed),
        onward=next_steps(course, past.within(topic.id), topic.id, today, seed=seed),
        results=tuple(_results(topic, past, work)) if path.is_finished else (),
        choice=choice,
        explorers=tuple(Hyperlink(explorer_url(one.name), translate(one.title)) for one in explorers),
        figures=unplaced_figures(topic),
        earlier=beside[place - 1] if place > 0 else None,
        later=beside[place + 1] if 0 <= place < len(topics) - 1 else None,
    )


def _results(topic: Topic, past: LearnerHistory, work: ChapterWork) -> Iterator[ChapterResult]:
    """What the learner has computed on the path of *topic*."""
    for exercise in topic.path:
        if attempt := work.right.get(exercise.id):
            effort = work.efforts[exercise.id]
            yield ChapterResult(
                row=row_of(exercise, past.known),
                href=exercise_url(exercise.id, attempt.seed),
                answer=tuple(view_of(exercise).told(exercise, attempt.seed, attempt.answer)),
                answers=effort.answers,
                right=effort.right,
                time=clock([effort.seconds]),
            )
