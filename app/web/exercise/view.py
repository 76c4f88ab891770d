"""An exercise with everything that its page shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.content.catalog import Topic
from app.content.glossary import mark
from app.db.tables import now
from app.expressions import PAD_LIMIT
from app.kinds import Exercise
from app.kinds.answers import Verdict
from app.kinds.code.feedback import Trial, TrialRun
from app.markdown import html, inline_html
from app.site import Site
from app.translation import foreign, noted, translate
from app.web.exercise.around import Around, Asked, around
from app.web.exercise.assigned import FREE, Assigned
from app.web.exercise.history import AttemptView, attempts_in, has_solved
from app.web.exercise.illustration import (
    IllustrationView,
    counted_view,
    illustration_view,
    played_view,
)
from app.web.exercise.posted import ActionResult, AnswerState, Fields, first
from app.web.exercise.results import recorded
from app.web.exercise.views import view_of
from app.web.exercise.views.base import Filled, Form
from app.web.explore.figures import EmbeddedView, embedded_view
from app.web.frame.rendering import Hyperlink
from app.web.standing.history import past_of
from app.web.standing.onward import Onward, onward_for
from app.web.standing.view import Mark, has_finished, mark_of
from app.web.urls import chapter_url, exercise_url

_HEADINGS: Mapping[AnswerState, str] = {
    "none": "",
    "correct": noted("Right"),
    "partial": noted("Partly right"),
    "incorrect": noted("Not yet"),
    "recorded": noted("Recorded"),
    "refused": noted("Not in this assignment"),
    "unreadable": noted("Not graded"),
    "unavailable": noted("Not checked"),
}
_LONGEST_CLOCK = 12  # figures


@dataclass(frozen=True, slots=True)
class TrialRunView:
    """One visible example that was run."""

    run: TrialRun
    says: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialView:
    """The visible examples, after a run."""

    problem: Markup
    line: int | None
    printed: str
    runs: tuple[TrialRunView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """What the learner has asked for so far; the figures and the solution once it is finished."""

    hints: tuple[Markup, ...]
    hints_left: int
    right_answer: Markup | None
    solution: Markup | None
    figures: tuple[EmbeddedView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExercisePage:
    """The page of an exercise."""

    id: str
    title: str
    lang: str
    description: str
    kind: str
    kind_title: str
    keeps_draft: bool
    level: int
    mark: Mark
    seed: int
    action: str
    here: str
    begun: int
    prompt: Markup
    illustration: IllustrationView | None
    form: Form
    state: AnswerState
    heading: str
    feedback: tuple[Markup, ...]
    counted: IllustrationView | None
    played: IllustrationView | None
    trial: TrialView | None
    help: Help
    onward: Onward | None
    finished: Hyperlink | None
    attempts: tuple[AttemptView, ...]
    around: Around
    has_figures: bool
    has_drawings: bool
    has_board: bool
    assigned: Assigned
    pad_limit: int = PAD_LIMIT


def exercise_page(
    site: Site, asked: Asked, result: ActionResult, rules: Assigned = FREE
) -> ExercisePage:
    """The page that was *asked* for, after *result*, as the *rules* of assignments allow."""
    exercise, seed, learner, given = asked.exercise, asked.seed, asked.learner, asked.given
    topic = site.catalog.topic_of(exercise)
    seen, known = asked.past.seen, asked.past.known
    result = recorded(result, rules.verdict)
    verdict = result.verdict
    state = result.state if verdict is None else _state(verdict)
    finished = (seen.solution or has_solved(asked.past, exercise, seed)) and not rules.solution
    filled = Filled(
        seed=seed,
        learner=learner,
        given=given,
        parts=verdict.parts if verdict else {},
        graded=finished or verdict is not None,
    )
    form = view_of(exercise).form(site, exercise, filled)
    is_over = state == "correct" or bool(verdict and form.retry)
    return ExercisePage(
        id=exercise.id,
        title=exercise.title,
        lang=foreign(exercise.language),
        description=f"{exercise.title}: an exercise on {topic.title.lower()}.",
        kind=exercise.kind,
        kind_title=translate(exercise.kind_title),
        keeps_draft=exercise.keeps_draft,
        level=exercise.level,
        mark=mark_of(known.get(exercise.id)),
        seed=seed,
        action=exercise_url(exercise.id, seed),
        here=exercise_url(exercise.id),
        begun=begun_at(given) or int(now().timestamp()),
        prompt=Markup() if asked.part else _prompt(exercise, seed),
        illustration=None if asked.part else illustration_view(exercise, seed),
        form=form,
        state=state,
        heading=translate(_HEADINGS[state]) if _HEADINGS[state] else "",
        feedback=_feedback(result),
        counted=_counted(asked, verdict, finished=finished) if not rules.exam else None,
        played=_played(result),
        trial=_trial(result.trial) if result.trial else None,
        help=_help(exercise, seed, seen.hints, finished=finished),
        onward=_onward(site, asked, rules) if is_over else None,
        finished=_finish(topic, asked),
        attempts=tuple(attempts_in(asked.past, exercise, seed)),
        around=around(site, asked, topic, rules),
        has_figures=bool(exercise.figures),
        has_drawings=bool(exercise.figure) or exercise.draws_mistakes or exercise.is_played,
        has_board=exercise.has_board and not rules.exam,
        assigned=rules,
    )


def _prompt(exercise: Exercise, seed: int) -> Markup:
    return mark(html(exercise.variant(seed).prompt), tuple(exercise.unmarked))


def _onward(site: Site, asked: Asked, rules: Assigned) -> Onward | None:
    """The ways on; in an assignment, the strip above has the next exercise."""
    if rules.strips:
        return None
    topic = site.catalog.topic_of(asked.exercise)
    past = past_of(site, asked.learner).within(topic.id)
    return onward_for(site, past, topic.id, asked.exercise.id, asked.seed)


def _counted(asked: Asked, verdict: Verdict | None, *, finished: bool) -> IllustrationView | None:
    if verdict is None or verdict.correct:
        return None
    given = asked.exercise.answer_in(asked.given)
    return counted_view(asked.exercise, asked.seed, given, finished=finished)


def _played(result: ActionResult) -> IllustrationView | None:
    played = result.verdict.played if result.verdict else result.played
    return played_view(played) if played else None


def _trial(trial: Trial) -> TrialView:
    runs = tuple(TrialRunView(run, inline_html(run.says)) for run in trial.runs)
    problem = inline_html(trial.problem)
    return TrialView(problem=problem, line=trial.line, printed=trial.printed, runs=runs)


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


def begun_at(given: Fields) -> int:
    """When the page of a posted form was opened, in seconds since 1970; 0 where it does not say."""
    text = first(given, "begun")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_CLOCK else 0


def _finish(topic: Topic, asked: Asked) -> Hyperlink | None:
    """The end of the path, if the answer was the last one that it needed."""
    if not has_finished(topic, asked.exercise, asked.before.known, asked.past.known):
        return None
    return Hyperlink(
        f"{chapter_url(topic.id, asked.seed if topic.parameters else 0)}#finished", topic.title
    )


def _state(verdict: Verdict) -> AnswerState:
    if verdict.correct:
        return "correct"
    return "partial" if verdict.score > 0 else "incorrect"


def _feedback(result: ActionResult) -> tuple[Markup, ...]:
    if result.verdict is not None:
        return tuple(html(sentence) for sentence in result.verdict.feedback)
    # An error quotes what was typed, so it is not Markdown.
    return (Markup("<p>{}</p>").format(result.says),) if result.says else ()
