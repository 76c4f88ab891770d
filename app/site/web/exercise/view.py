"""An exercise with everything that its page shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from markupsafe import Markup

from app.core.charts.motion import Motion
from app.core.errors import sentence
from app.core.expressions import PAD_LIMIT
from app.core.simulators.programs import PlayedSchedule
from app.core.translation import foreign, language, localize, noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import mark
from app.course.illustrations import Sketch, illustrate
from app.course.illustrations.base import counted_sketch, schedule_sketch
from app.course.illustrations.grids import played_sketch
from app.course.kinds import Exercise
from app.course.kinds.base import ExerciseFigure, PlayedAnswer, ValueCache, Verdict
from app.course.kinds.code.function import Trial
from app.course.kinds.drawn_values import Draw
from app.server.db.history import ExerciseHistory
from app.site.markdown import html, inline_html
from app.site.web.exercise import page_context
from app.site.web.exercise.picture_link import picture_link
from app.site.web.exercise.views import NO_CONTEXT, Form, FormContext, FormInput, view_of
from app.site.web.explore.figures import BOTH, EmbeddedView, drawn_on, embedded_view, player_data
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.next_steps import NextSteps
from app.site.web.standing.view import Mark, has_finished, mark_of
from app.site.web.urls import chapter_url, exercise_url, review_url


@dataclass(frozen=True, slots=True)
class IllustrationView:
    """A figure on every paper; or the *problem* of one that cannot be drawn, for its author.

    One that answers play has its *motion*.
    """

    title: str
    svg: Markup
    problem: str = ""
    motion: Motion | None = None

    @property
    def moves(self) -> Markup:
        """The attributes that the player reads."""
        return player_data(self.motion)


_views: ValueCache[tuple[str, str, str, int], IllustrationView] = ValueCache()


def illustration_view(exercise: Exercise, seed: int, reached: int | None = None) -> IllustrationView | None:
    """The figure of *exercise* as *seed* draws it, if it has one; at the step that an answer *reached*."""
    figure, key = exercise.figure, (language(), exercise.id, exercise.digest, seed)
    if figure and figure.plays:
        return _view(figure, exercise.draw(seed), reached)
    if figure:
        return _views.of(key, lambda: _view(figure, exercise.draw(seed)))
    if exercise.is_played and key not in _views and (start := exercise.at_first(seed)):
        return _views.keep(key, played_view(start))
    return _views.get(key)


def _view(figure: ExerciseFigure, drawn: Draw, reached: int | None = None) -> IllustrationView:
    try:
        found = illustrate(figure, drawn)
    except ValueError as error:
        return IllustrationView("", Markup(""), sentence(localize(str(error))))
    if isinstance(found, Motion) and figure.plays:
        found = replace(found, still=played_frame(found, reached))
    return _drawn(found, moves=bool(figure.plays))


def played_frame(motion: Motion, reached: int | None) -> int:
    """The frame that an answer *reached*, however large or small it is."""
    return min(reached or 0, len(motion.frames) - 1)


def played_view(played: PlayedAnswer) -> IllustrationView:
    """What an answer did, step by step; or what is there before the first step."""
    if isinstance(played, PlayedSchedule):
        return _drawn(schedule_sketch(played))
    return _drawn(played_sketch(played))


def _drawn(found: Sketch, *, moves: bool = False) -> IllustrationView:
    motion = found if moves and isinstance(found, Motion) else None
    return IllustrationView(found.title, drawn_on(BOTH, found), motion=motion)


_MISSES = 2  # answers without a diagnosis, after which a hint is offered
_ABOUT = noted("{title}: an exercise of the chapter {chapter}.")
_HEADINGS: Mapping[page_context.AnswerState, str] = {
    "none": "",
    "correct": noted("Right"),
    "partial": noted("Partly right"),
    "incorrect": noted("Not yet"),
    "recorded": noted("Recorded"),
    "refused": noted("Not in this assignment"),
    "unreadable": noted("Not graded"),
    "unavailable": noted("Not checked"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What the learner has asked for so far; the figures and the solution once it is finished."""

    hints: tuple[Markup, ...]
    hints_left: int
    right_answer: Markup | None
    solution: Markup | None
    figures: tuple[EmbeddedView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """An earlier attempt; *correct* is None while its verdict is hidden.

    It *counts* unless its solution had been shown before.
    """

    at: datetime
    correct: bool | None
    counts: bool
    answer: tuple[Markup, ...]
    href: str
    same: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExercisePage:
    """The page of an exercise; when it *is_over*, the route adds the ways on.

    It *is_uncounted* if the answer is right, but its solution had been shown before; *picture* is
    the page of a right schedule, to share.
    """

    id: str
    title: str
    lang: str
    description: str
    kind: str
    kind_title: str
    level: int
    mark: Mark
    seed: int
    action: str
    here: str
    begun: int
    prompt: Markup
    illustration: IllustrationView | None
    reached: int | None
    form: Form
    state: page_context.AnswerState
    is_over: bool
    is_uncounted: bool
    offers_hint: bool
    heading: str
    insight: Markup
    feedback: tuple[Markup, ...]
    counted: IllustrationView | None
    played: IllustrationView | None
    trial: Trial | None
    help: Help
    onward: NextSteps | None
    review: str
    finished: Hyperlink | None
    attempts: tuple[AttemptView, ...]
    around: page_context.PageContext
    has_figures: bool
    has_drawings: bool
    picture: str
    assigned: page_context.AssignmentRules
    pad_limit: int = PAD_LIMIT


def exercise_page(
    course: Catalog,
    asked: page_context.ExerciseRequest,
    result: page_context.ActionResult,
    rules: page_context.AssignmentRules = page_context.FREE,
    context: FormContext = NO_CONTEXT,
) -> ExercisePage:
    """The page that was *asked* for, after *result*, as the *rules* of assignments allow."""
    exercise, seed, history = asked.exercise, asked.seed, asked.history
    topic = course.topic_of(exercise)
    if result.verdict and rules.verdict:
        says = translate("Your answer is stored. {why}", why=rules.verdict)
        result = page_context.ActionResult(state="recorded", says=says)
    verdict = result.verdict
    state = result.state
    if verdict is not None:
        state = "correct" if verdict.correct else "partial" if verdict.score > 0 else "incorrect"
    played = verdict.played if verdict else result.played
    # An error quotes what was typed, so it is not Markdown.
    told = (Markup("<p>{}</p>").format(result.says),) if result.says else ()
    finished = is_finished(history, exercise, seed) and not rules.solution
    is_played = verdict is not None and not rules.exam
    reached = exercise.reached(seed, exercise.answer_in(asked.given)) if is_played else None
    insight = exercise.insight if state == "correct" else ""
    heading = translate(_HEADINGS[state]) if _HEADINGS[state] else ""
    if verdict and verdict.feedback and verdict.feedback[0].startswith(heading):
        heading = ""  # the feedback begins with it
    form = view_of(exercise).form(exercise, _form_input(asked, verdict, context, finished=finished))
    return ExercisePage(
        id=exercise.id,
        title=exercise.title,
        lang=foreign(exercise.language),
        description=translate(_ABOUT, title=exercise.title, chapter=topic.title),
        kind=exercise.kind,
        kind_title=translate(exercise.kind_title),
        level=exercise.level,
        mark=mark_of(history.known.get(exercise.id)),
        seed=seed,
        action=(review_url if asked.reviewing else exercise_url)(exercise.id, seed),
        here=exercise_url(exercise.id),
        begun=page_context.begun_at(asked.given) or int(asked.moment.timestamp()),
        prompt=Markup() if asked.fragment else mark(html(exercise.variant(seed).prompt), tuple(exercise.unmarked)),
        illustration=None if asked.fragment else illustration_view(exercise, seed, reached),
        reached=reached,
        form=form,
        state=state,
        is_over=state == "correct" or bool(verdict and form.retry),
        is_uncounted=state == "correct" and _is_after_solution(asked),
        offers_hint=not (finished or rules.hints) and _misses_twice(asked, state),
        heading=heading,
        insight=inline_html(exercise.fill(insight, exercise.solved(exercise.draw(seed)))) if insight else Markup(),
        feedback=told if verdict is None else tuple(map(html, verdict.feedback)),
        counted=_counted(asked, verdict, finished=finished) if not rules.exam else None,
        played=played_view(played) if played else None,
        trial=result.trial,
        help=_help(exercise, seed, history.seen.hints, finished=finished),
        onward=None,
        review="",
        finished=_finish(topic, asked),
        attempts=tuple(_attempts(asked)),
        around=page_context.page_context(course, asked, topic, rules),
        has_figures=bool(exercise.figures),
        has_drawings=bool(exercise.figure) or exercise.draws_mistakes or exercise.is_played,
        picture=picture_link(exercise.id, verdict) if verdict and verdict.correct and not rules.exam else "",
        assigned=rules,
    )


def is_finished(history: ExerciseHistory, exercise: Exercise, seed: int) -> bool:
    """Whether that drawing needs no more answer: it is solved, or its solution was shown."""
    return history.seen.solution or history.has_solved(exercise.id, seed)


def _is_after_solution(asked: page_context.ExerciseRequest) -> bool:
    """Whether an answer cannot solve the exercise: its solution had been shown before."""
    was_solved = mark_of(asked.history_before.known.get(asked.exercise.id)) in ("solved", "unaided")
    return asked.history_before.seen.solution and not was_solved


def _misses_twice(asked: page_context.ExerciseRequest, state: page_context.AnswerState) -> bool:
    """Whether the last two answers were wrong in ways that no diagnosis knows, and hints remain."""
    history = asked.history
    last = [one for one in history.last.shown if one.seed == asked.seed][:_MISSES]
    unknown = [one for one in last if not (one.correct or one.mistake)]
    has_more = history.seen.hints < len(asked.exercise.hints)
    return state in ("incorrect", "partial") and has_more and len(unknown) == _MISSES


def _form_input(
    asked: page_context.ExerciseRequest, verdict: Verdict | None, context: FormContext, *, finished: bool
) -> FormInput:
    return FormInput(
        seed=asked.seed,
        learner=asked.learner,
        given=asked.given,
        parts=verdict.parts if verdict else {},
        graded=finished or verdict is not None,
        correct=verdict.correct if verdict else None,
        context=context,
    )


def _attempts(asked: page_context.ExerciseRequest) -> Iterator[AttemptView]:
    """The last attempts; verdicts that an assignment hides are left out."""
    exercise, history = asked.exercise, asked.history
    for one in history.last.shown:
        yield AttemptView(
            at=one.at,
            correct=None if history.hides(exercise.id, one.seed) else one.correct,
            counts=not one.revealed,
            answer=tuple(view_of(exercise).told(exercise, one.seed, one.answer)),
            href=exercise_url(exercise.id, one.seed),
            same=one.seed == asked.seed,
        )


def _counted(
    asked: page_context.ExerciseRequest, verdict: Verdict | None, *, finished: bool
) -> IllustrationView | None:
    """What a wrong answer counts, where the right one adds up parts; with sizes if *finished*."""
    if verdict is None or verdict.correct:
        return None
    counted = asked.exercise.counted(asked.seed, asked.exercise.answer_in(asked.given))
    return _drawn(counted_sketch(counted, finished=finished)) if counted else None


def _help(exercise: Exercise, seed: int, hints: int, *, finished: bool) -> Help:
    shown = exercise.variant(seed).hints[:hints] if hints else ()
    figures = (embedded_view(one, exercise.state_of(one, seed)) for one in exercise.figures)
    return Help(
        hints=tuple(map(html, shown)),
        hints_left=len(exercise.hints) - hints,
        right_answer=html(exercise.reveal(seed)) if finished else None,
        solution=html(exercise.variant(seed).solution) if finished else None,
        figures=tuple(figures) if finished else (),
    )


def _finish(topic: Topic, asked: page_context.ExerciseRequest) -> Hyperlink | None:
    """The end of the path, if the answer was the last one that it needed."""
    if not has_finished(topic, asked.exercise, asked.history_before.known, asked.history.known):
        return None
    return Hyperlink(f"{chapter_url(topic.id, asked.seed if topic.parameters else 0)}#finished", topic.title)
