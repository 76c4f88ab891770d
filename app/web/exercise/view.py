"""An exercise with everything that its page shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from markupsafe import Markup

from app.content.errata import of_exercise
from app.content.glossary import mark
from app.db.queries import Revealed, attempts_at, revealed, solved_drawing
from app.db.session import open_session
from app.db.tables import now
from app.errors import AnswerError, UnavailableError
from app.kinds import Exercise, PartVerdict, Verdict
from app.kinds.code.feedback import Trial, TrialRun
from app.kinds.lab import Experiment
from app.kinds.length import TooLongError
from app.markdown import html, inline_html
from app.sandbox.pool import SandboxHealth
from app.site import Site
from app.web.exercise.forms import Form, Given, form_of
from app.web.exercise.lab import ExperimentView, experiment_view
from app.web.explore.figures import EmbeddedView, embedded_view
from app.web.frame.rendering import Link
from app.web.progress.standing import (
    KINDS,
    Mark,
    Standings,
    Suggested,
    address_of,
    mark_of,
    memories_of,
    next_for,
    standings_of,
)

State = Literal["none", "correct", "partial", "incorrect", "unreadable", "unavailable"]
_HEADINGS: Mapping[State, str] = {
    "none": "",
    "correct": "Right",
    "partial": "Partly right",
    "incorrect": "Not yet",
    "unreadable": "This could not be read",
    "unavailable": "Not checked",
}
_LONGEST_CLOCK = 12  # figures
_SHORT = 60  # characters of an earlier answer
_LOST = "Your answer is still here; nothing was counted."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a button led to."""

    verdict: Verdict | None = None
    trial: Trial | None = None
    state: State = "none"
    says: str = ""
    status: int = 200


@dataclass(frozen=True, slots=True)
class RunView:
    """One visible example that was run."""

    run: TrialRun
    says: Markup


@dataclass(frozen=True, slots=True)
class AttemptView:
    """An earlier attempt."""

    at: datetime
    correct: bool
    answer: str
    href: str
    same: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """The page of an exercise."""

    id: str
    digest: str
    title: str
    description: str
    kind: str
    kind_says: str
    label: str
    level: int
    core: bool
    skills: tuple[str, ...]
    sources: tuple[Link, ...]
    errata: tuple[Link, ...]
    topic: Link
    place: str
    seed: int
    action: str
    prompt: Markup
    form: Form
    health: SandboxHealth
    state: State
    heading: str
    feedback: tuple[Markup, ...]
    following: Suggested | None
    trial: Trial | None
    trial_problem: Markup
    runs: tuple[RunView, ...]
    hints: tuple[Markup, ...]
    hints_left: int
    solution: Markup | None
    right_answer: Markup | None
    attempts: tuple[AttemptView, ...]
    mark: Mark
    another: Link | None
    earlier: Link | None
    later: Link | None
    begun: int
    has_figures: bool
    figures: tuple[EmbeddedView, ...]
    experiment: ExperimentView | None
    parts: Mapping[str, PartVerdict] = field(default_factory=dict)


def unreadable(error: AnswerError | TooLongError) -> Outcome:
    """An answer that cannot be read: neither graded nor stored."""
    says = str(error)
    return Outcome(
        state="unreadable",
        says=f"{says[:1].upper()}{says[1:]}.",
        status=413 if isinstance(error, TooLongError) else 200,
    )


def unavailable(error: UnavailableError) -> Outcome:
    """Something is out of order; the answer stays in the form."""
    says = str(error).rstrip(".")
    return Outcome(state="unavailable", says=f"{says[:1].upper()}{says[1:]}. {_LOST}", status=503)


def tried(trial: Trial) -> Outcome:
    """The visible examples were run."""
    return Outcome(trial=trial)


def sheet_of(
    site: Site, exercise: Exercise, seed: int, learner: str, given: Given, outcome: Outcome
) -> Sheet:
    """The page of *exercise* for *learner*, after *outcome*."""
    topic = site.catalog.topic_of(exercise)
    variant = exercise.variant(seed)
    seen, solved, attempts = _history(site, exercise, seed, learner)
    known = standings_of(site, learner)
    verdict, trial = outcome.verdict, outcome.trial
    parts = verdict.parts if verdict else {}
    state = outcome.state if verdict is None else _state(verdict)
    finished = seen.solution or solved
    before, after = site.catalog.before(exercise), site.catalog.after(exercise)
    return Sheet(
        id=exercise.id,
        digest=exercise.digest,
        title=exercise.title,
        description=f"{exercise.title}: an exercise on {topic.title.lower()}.",
        kind=exercise.kind,
        kind_says=KINDS[exercise.kind],
        label=exercise.label,
        level=exercise.level,
        core=exercise.core,
        skills=tuple(exercise.skills),
        sources=tuple(Link(str(url), str(url).split("//", 1)[1]) for url in exercise.sources),
        errata=tuple(Link(f"/errata#{e.id}", e.title) for e in of_exercise(exercise.id)),
        topic=Link(f"/chapters/{topic.id}", topic.title),
        place=f"{topic.exercises.index(exercise) + 1} of {len(topic.exercises)}",
        seed=seed,
        action=address_of(exercise, seed),
        prompt=mark(html(variant.prompt), tuple(exercise.unmarked)),
        form=form_of(exercise, seed, given, parts),
        health=site.runner.health,
        state=state,
        heading=_HEADINGS[state],
        feedback=_feedback(outcome),
        following=_following(site, known, exercise, learner) if state == "correct" else None,
        trial=trial,
        trial_problem=inline_html(trial.problem) if trial else Markup(),
        runs=tuple(RunView(run, inline_html(run.says)) for run in trial.runs) if trial else (),
        hints=tuple(html(hint) for hint in variant.hints[: seen.hints]),
        hints_left=len(variant.hints) - seen.hints,
        solution=html(variant.solution) if finished else None,
        right_answer=html(exercise.reveal(seed)) if finished else None,
        attempts=attempts,
        mark=mark_of(known.get(exercise.id)),
        another=Link(f"/exercises/{exercise.id}/another", anew)
        if (anew := exercise.anew)
        else None,
        earlier=Link(address_of(before), before.title) if before else None,
        later=Link(address_of(after), after.title) if after else None,
        begun=begun_at(given) or int(now().timestamp()),
        has_figures=bool(exercise.figures),
        figures=tuple(
            embedded_view(figure, exercise.state_of(figure, seed)) for figure in exercise.figures
        )
        if finished
        else (),
        experiment=experiment_view(
            site, exercise, seed, learner, graded=finished or verdict is not None, parts=parts
        )
        if isinstance(exercise, Experiment)
        else None,
        parts=parts,
    )


def begun_at(given: Given) -> int:
    """When the page of a posted form was opened, in seconds since 1970; 0 where it does not say."""
    text = next(iter(given.get("begun", ())), "")
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
                row.at,
                row.correct,
                _short(row.answer),
                address_of(exercise, row.seed),
                row.seed == seed,
            )
            for row in attempts_at(session, learner, exercise.id)
        )
    return seen, solved, attempts


def _state(verdict: Verdict) -> State:
    if verdict.correct:
        return "correct"
    return "partial" if verdict.score > 0 else "incorrect"


def _feedback(outcome: Outcome) -> tuple[Markup, ...]:
    if outcome.verdict is not None:
        return tuple(html(sentence) for sentence in outcome.verdict.feedback)
    # An error quotes what was typed, so it is no Markdown.
    return (Markup("<p>{}</p>").format(outcome.says),) if outcome.says else ()


def _short(answer: str) -> str:
    line = " ".join(answer.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"
