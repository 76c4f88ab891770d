"""The page of a chapter: its subject, its numbered path, and what one can compute at its end."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from app.core.errors import AnswerError, sentence
from app.core.translation import foreign, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import mark
from app.course.content.topic_file import ReadingQuestion, opening_parts
from app.course.explorers import explorer_pages
from app.course.kinds.answer_key import AnswerKey
from app.course.kinds.base import EmbeddedFigures, ExerciseFigure
from app.course.learning import practice_exercises
from app.server.db.history import Effort
from app.server.db.tables import Attempt
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.markdown import html, inline_html
from app.site.web.exercise.views import view_of
from app.site.web.explore.figures import EmbeddedView, embedded_view, illustrated_view
from app.site.web.explore.prediction_check import read_prediction
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.standing.chapter_choice import ChapterChoiceForm, choice_form, chosen_here, seed_here
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import NextSteps, chosen_route, next_steps
from app.site.web.standing.records import open_records
from app.site.web.standing.view import ExercisePath, ExerciseRow, LearnerHistory, clock, is_solved, path_of, row_of
from app.site.web.urls import chapter_url, exercise_url, explorer_url

_LONGEST = 60  # characters of a prediction
_NEW_SEEDS = 1_000_000  # short enough to read out


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionView:
    """A question in a text; *says* is empty until it is answered, *right* None if it is not read.

    *others* are the fields that keep what was typed for the other questions.
    """

    number: int
    prompt: Markup
    typed: str
    others: tuple[tuple[str, str], ...]
    right: bool | None = None
    verdict: Markup = Markup("")
    says: Markup = Markup("")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningView:
    """A piece of an opening: text, a figure, or a question; during it, *frame* is shown beside it."""

    text: Markup = Markup("")
    frame: int | None = None
    figure: EmbeddedView | None = None
    question: QuestionView | None = None


def opening_views(topic: Topic, typed: Mapping[str, str]) -> Iterator[OpeningView]:
    """The opening of *topic*, where *typed* has the predictions by the fields `q1`, `q2`, ..."""
    names = [f"q{number}" for number in range(1, len(topic.questions) + 1)]
    given = {name: typed[name] for name in names if name in typed}
    beside = figure_beside(topic)
    for part in opening_parts(topic.opening):
        if part.figure is not None:
            if part.figure != beside:
                yield OpeningView(figure=fixed_figure(topic.figures[part.figure]))
        elif part.question is not None:
            asked = topic.questions[part.question]
            yield OpeningView(question=_question(asked, part.question + 1, given))
        else:
            yield OpeningView(text=mark(html(part.text)), frame=part.frame)


def unplaced_figures(topic: Topic) -> tuple[EmbeddedView, ...]:
    """The figures of *topic* that have no place in its opening."""
    placed = {part.figure for part in opening_parts(topic.opening)} | {figure_beside(topic)}
    return tuple(fixed_figure(figure) for index, figure in enumerate(topic.figures) if index not in placed)


def figure_beside(topic: Topic) -> int | None:
    """The index of the figure that stands beside the text: the first that moves."""
    return next((index for index, figure in enumerate(topic.figures) if isinstance(figure, ExerciseFigure)), None)


def fixed_figure(figure: EmbeddedFigures | ExerciseFigure) -> EmbeddedView:
    """*figure* of a chapter, whose state is fixed."""
    if isinstance(figure, ExerciseFigure):
        return illustrated_view(figure)
    return embedded_view(figure, {name: str(text) for name, text in figure.state.items()})


def _question(asked: ReadingQuestion, number: int, given: Mapping[str, str]) -> QuestionView:
    own = f"q{number}"
    others = tuple((name, text) for name, text in given.items() if name != own)
    prompt, typed = mark(inline_html(asked.prompt)), given.get(own, "")[:_LONGEST].strip()
    blank = QuestionView(number=number, prompt=prompt, typed=typed, others=others)
    if own not in given:
        return blank
    key = asked.key()
    if not typed:
        return _answered(blank, None, _told(key), asked.says)
    try:
        found = key.judge(read_prediction(asked, typed))
    except AnswerError as error:
        return _answered(blank, None, sentence(str(error)), "")
    verdict = found.says if found.correct else f"{found.says} {_told(key)}"
    return _answered(blank, found.correct, verdict, asked.says)


def _told(key: AnswerKey) -> str:
    return translate("The answer is {value}.", value=key.shown())


def _answered(blank: QuestionView, right: bool | None, verdict: str, says: str) -> QuestionView:
    """*blank* with a *verdict* and what the chapter *says* then, both Markdown."""
    return replace(blank, right=right, verdict=mark(inline_html(verdict)), says=mark(html(says)))


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
    side: EmbeddedView | None
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
    practice: str

    def has(self, tag: str) -> bool:
        """Whether the text of the opening has an element *tag*."""
        return any(f"<{tag}" in part.text for part in self.opening)

    @property
    def draws(self) -> bool:
        """Whether the page has a figure or a form to predict."""
        return bool(self.figures or self.side) or any(not part.text for part in self.opening)


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
    beside_text = figure_beside(topic)
    place = course.topics.index(topic) if topic in course.topics else -1  # hidden by a course pack
    explorers = (one for one in explorer_pages() if one.chapter in topic.folders)
    return ChapterPage(
        number=place + 1,
        part=course.part_title(topic),
        title=topic.title,
        href=chapter_url(topic.id),
        lang=foreign(topic.language),
        opening=tuple(opening_views(topic, typed)),
        side=fixed_figure(topic.figures[beside_text]) if beside_text is not None else None,
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
        practice=f"{chapter_url(topic.id)}/practice" if topic.extras else "",
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


router = Router(prefix="/chapters")


@router.get("/{name}")
async def chapter(request: Request, site: Here, visiting: Visiting, name: str) -> Response:
    """One chapter."""
    topic, learner = site.catalog.topic(name), visiting.learner
    if topic.id != name:
        return RedirectResponse(chapter_url(topic.id), 308)
    if response := chosen_here(topic, request):
        return response
    past = read_learner_history(site, learner, chosen_route(request))
    is_finished = all(is_solved(one, past.known) for one in topic.path)
    work = read_work(site, topic, learner) if is_finished or topic.parameters else ChapterWork()
    seed = seed_here(topic, request) or (work.last_seed if topic.parameters else 0)
    choice = choice_form(topic, request, seed)
    today = site.clock().date()
    page = chapter_page(site.catalog, topic, past, work, today, choice=choice, seed=seed, typed=request.query_params)
    around = frame(request, topic.title, topic.summary, "exercises")
    return render("course/chapter.html", around, page, 422 if choice and choice.faults else 200)


@router.get("/{name}/practice")
async def practice(site: Here, visiting: Visiting, name: str, after: str = "") -> Response:
    """The way to an exercise of the chapter to practice with, similar to the exercise *after* which it comes."""
    topic = site.catalog.topic(name)
    solved = read_learner_history(site, visiting.learner).solved(site.catalog)
    fitting = practice_exercises(topic, solved, site.catalog.by_id.get(after))
    if not fitting:
        return RedirectResponse(chapter_url(topic.id), 303)
    chosen = secrets.choice(fitting)
    is_again = chosen.id in solved and bool(chosen.variation)
    return RedirectResponse(exercise_url(chosen.id, 1 + secrets.randbelow(_NEW_SEEDS) if is_again else 0), 303)


def read_work(site: Site, topic: Topic, learner: str) -> ChapterWork:
    """What *learner* has done in *topic*."""
    if not learner:
        return ChapterWork()
    with open_records(site, learner) as records:
        right = records.last_right_answers([one.id for one in topic.exercises])
        return ChapterWork(right, records.efforts())
