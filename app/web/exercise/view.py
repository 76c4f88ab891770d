"""An exercise with everything that its page shows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from app.content.catalog import Topic
from app.content.errata import of_exercise
from app.content.glossary import mark
from app.db.queries import Revealed, attempts_at, revealed, solved_drawing
from app.db.session import open_session
from app.db.tables import now
from app.errors import AnswerError, UnavailableError, sentence
from app.kinds import Exercise
from app.kinds.answers import TooLongError, Verdict
from app.kinds.code.feedback import Trial, TrialRun
from app.markdown import html, inline_html
from app.site import Site
from app.web.exercise.posted import ActionResult, AnswerState, Fields, first
from app.web.exercise.views import view_of
from app.web.exercise.views.base import Filled, Form
from app.web.explore.figures import EmbeddedView, embedded_view
from app.web.frame.rendering import Hyperlink
from app.web.progress.standing import (
    Mark,
    Standings,
    Suggested,
    mark_of,
    memories_of,
    next_for,
    standings_of,
)
from app.web.urls import chapter_url, exercise_url

_HEADINGS: Mapping[AnswerState, str] = {
    "none": "",
    "correct": "Right",
    "partial": "Partly right",
    "incorrect": "Not yet",
    "unreadable": "Not graded",
    "unavailable": "Not checked",
}
_LONGEST_CLOCK = 12  # figures
_SHORT = 60  # characters of an earlier answer
_LOST = "Your answer is still here, and no attempt was recorded."


@dataclass(frozen=True, slots=True)
class TrialRunView:
    """One visible example that was run."""

    run: TrialRun
    says: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """An earlier attempt."""

    at: datetime
    correct: bool
    answer: str
    href: str
    same: bool


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
class Around:
    """Links to other pages."""

    topic: Hyperlink
    place: str
    sources: tuple[Hyperlink, ...]
    errata: tuple[Hyperlink, ...]
    another: Hyperlink | None
    earlier: Hyperlink | None
    later: Hyperlink | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExercisePage:
    """The page of an exercise."""

    id: str
    title: str
    description: str
    kind: str
    kind_title: str
    keeps_draft: bool
    level: int
    mark: Mark
    seed: int
    action: str
    begun: int
    prompt: Markup
    form: Form
    state: AnswerState
    heading: str
    feedback: tuple[Markup, ...]
    trial: TrialView | None
    help: Help
    following: Suggested | None
    attempts: tuple[AttemptView, ...]
    around: Around
    has_figures: bool


def unreadable(error: AnswerError | TooLongError) -> ActionResult:
    """An answer that cannot be read: neither graded nor stored."""
    return ActionResult(
        state="unreadable",
        says=sentence(str(error)),
        status=413 if isinstance(error, TooLongError) else 200,
    )


def unavailable(error: UnavailableError) -> ActionResult:
    """Something is out of order; the answer stays in the form."""
    says = f"{sentence(str(error))} {_LOST}"
    return ActionResult(state="unavailable", says=says, status=503)


def exercise_page(
    site: Site, exercise: Exercise, seed: int, learner: str, given: Fields, result: ActionResult
) -> ExercisePage:
    """The page of *exercise* for *learner*, after *result*."""
    topic = site.catalog.topic_of(exercise)
    seen, solved, attempts = _history(site, exercise, seed, learner)
    known = standings_of(site, learner)
    verdict = result.verdict
    state = result.state if verdict is None else _state(verdict)
    finished = seen.solution or solved
    filled = Filled(
        seed=seed,
        learner=learner,
        given=given,
        parts=verdict.parts if verdict else {},
        graded=finished or verdict is not None,
    )
    return ExercisePage(
        id=exercise.id,
        title=exercise.title,
        description=f"{exercise.title}: an exercise on {topic.title.lower()}.",
        kind=exercise.kind,
        kind_title=exercise.kind_title,
        keeps_draft=exercise.keeps_draft,
        level=exercise.level,
        mark=mark_of(known.get(exercise.id)),
        seed=seed,
        action=exercise_url(exercise.id, seed),
        begun=begun_at(given) or int(now().timestamp()),
        prompt=mark(html(exercise.variant(seed).prompt), tuple(exercise.unmarked)),
        form=view_of(exercise).form(site, exercise, filled),
        state=state,
        heading=_HEADINGS[state],
        feedback=_feedback(result),
        trial=_trial(result.trial) if result.trial else None,
        help=_help(exercise, seed, seen.hints, finished=finished),
        following=_following(site, known, exercise, learner) if state == "correct" else None,
        attempts=attempts,
        around=_around(site, exercise, topic),
        has_figures=bool(exercise.figures),
    )


def _trial(trial: Trial) -> TrialView:
    runs = tuple(TrialRunView(run, inline_html(run.says)) for run in trial.runs)
    problem = inline_html(trial.problem)
    return TrialView(problem=problem, line=trial.line, printed=trial.printed, runs=runs)


def _help(exercise: Exercise, seed: int, hints: int, *, finished: bool) -> Help:
    variant = exercise.variant(seed)
    figures = (embedded_view(one, exercise.state_of(one, seed)) for one in exercise.figures)
    return Help(
        hints=tuple(html(hint) for hint in variant.hints[:hints]),
        hints_left=len(variant.hints) - hints,
        right_answer=html(exercise.reveal(seed)) if finished else None,
        solution=html(variant.solution) if finished else None,
        figures=tuple(figures) if finished else (),
    )


def _around(site: Site, exercise: Exercise, topic: Topic) -> Around:
    before, after = site.catalog.before(exercise), site.catalog.after(exercise)
    again = Hyperlink(f"{exercise_url(exercise.id)}/another", exercise.variation)
    return Around(
        topic=Hyperlink(chapter_url(topic.id), topic.title),
        place=f"{topic.exercises.index(exercise) + 1} of {len(topic.exercises)}",
        sources=tuple(Hyperlink(str(url), str(url).split("//", 1)[1]) for url in exercise.sources),
        errata=tuple(Hyperlink(f"/errata#{e.id}", e.title) for e in of_exercise(exercise.id)),
        another=again if exercise.variation else None,
        earlier=Hyperlink(exercise_url(before.id), before.title) if before else None,
        later=Hyperlink(exercise_url(after.id), after.title) if after else None,
    )


def begun_at(given: Fields) -> int:
    """When the page of a posted form was opened, in seconds since 1970; 0 where it does not say."""
    text = first(given, "begun")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _LONGEST_CLOCK else 0


def _following(site: Site, known: Standings, exercise: Exercise, learner: str) -> Suggested | None:
    return next_for(site, known, memories_of(site, learner), exercise.id)


def _history(
    site: Site, exercise: Exercise, seed: int, learner: str
) -> tuple[Revealed, bool, tuple[AttemptView, ...]]:
    if not learner:
        return Revealed(0, False), False, ()
    with open_session(site.engine) as session:
        seen = revealed(session, learner, exercise.id, seed)
        solved = solved_drawing(session, learner, exercise.id, seed)
        attempts = tuple(
            AttemptView(
                at=row.at,
                correct=row.correct,
                answer=_short(row.answer),
                href=exercise_url(exercise.id, row.seed),
                same=row.seed == seed,
            )
            for row in attempts_at(session, learner, exercise.id)
        )
    return seen, solved, attempts


def _state(verdict: Verdict) -> AnswerState:
    if verdict.correct:
        return "correct"
    return "partial" if verdict.score > 0 else "incorrect"


def _feedback(result: ActionResult) -> tuple[Markup, ...]:
    if result.verdict is not None:
        return tuple(html(sentence) for sentence in result.verdict.feedback)
    # An error quotes what was typed, so it is not Markdown.
    return (Markup("<p>{}</p>").format(result.says),) if result.says else ()


def _short(answer: str) -> str:
    line = " ".join(answer.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
