"""The part of an exercise's page that predicts, and then shows what was measured."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.db.queries import forget_prediction, prediction_of
from app.db.session import open_session
from app.db.tables import Prediction
from app.errors import AnswerError
from app.formulas import FORMULAS
from app.kinds.base import Answer, PartVerdict
from app.kinds.lab import CAUSE, Experiment
from app.kinds.length import refuse_longer
from app.kinds.quantity import Asked
from app.labs import Job, lab_called, read_job
from app.labs.match import found_in, is_of
from app.labs.report import ratio_shown
from app.markdown import inline_html
from app.site import Site
from app.web.exercise.forms import Given
from app.web.frame.rendering import Link
from app.web.labs.results import Kept, finished
from app.web.labs.wording import KINDS, LINKS_SAY, place_of
from app.web.progress.standing import address_of

_DOTTED = re.compile(r"([a-z]\w*(?:\.[a-z]\w*)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedView:
    """One prediction: what the learner said of it, and once that stands, what the formula says."""

    what: Markup
    yours: str
    correct: bool | None
    says: Markup
    formula: str
    how: Markup


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """What one run measured of one prediction."""

    value: str
    spread: str
    ratios: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with the same parameters."""

    machine: Link
    origin: str
    measured: tuple[MeasuredView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentView:
    """What is predicted, and what was measured once that is locked in."""

    lab: Link
    kind: str
    links: str
    locked: bool
    is_wrong: bool
    score: str
    predictions: tuple[PredictedView, ...]
    runs: tuple[RunView, ...]
    trouble: str
    hidden: tuple[tuple[str, str], ...]
    command: str
    cause: Markup


def locked_in(site: Site, exercise: Experiment, seed: int, learner: str) -> dict[str, str]:
    """What *learner* has predicted of that drawing; nothing before."""
    text = _stored(site, exercise, seed, learner)
    return json.loads(text) if text and _fits(text, exercise) else {}


def _stored(site: Site, exercise: Experiment, seed: int, learner: str) -> str | None:
    if not learner:
        return None
    with open_session(site.engine) as session:
        return prediction_of(session, learner, exercise.id, seed)


def _fits(prediction: str, exercise: Experiment) -> bool:
    """Whether *prediction* is of what *exercise* asks for: its author may have changed that."""
    return bool(json.loads(prediction).keys() == exercise.predict.keys())


async def lock_in(site: Site, exercise: Experiment, seed: int, learner: str, given: Given) -> None:
    """Keep the prediction of a posted form; one that is there already stays.

    Raises:
        AnswerError: a number is missing, or cannot be read.
        TooLongError: it has more characters than the settings allow.
        UnavailableError: it cannot be kept.
    """
    answer = exercise.answer_in(given)
    refuse_longer(answer, site.settings.answer_limit)
    exercise.read(answer)
    stored = _stored(site, exercise, seed, learner)
    if stored and not _fits(stored, exercise):
        with open_session(site.engine) as session:
            forget_prediction(session, learner, exercise.id, seed, stored)
    kept = {name: text.strip() for name, text in answer.items() if name != CAUSE}
    row = Prediction(learner=learner, exercise=exercise.id, seed=seed, answer=json.dumps(kept))
    await site.writer.put(row)


def answer_of(site: Site, exercise: Experiment, seed: int, learner: str, given: Given) -> Answer:
    """What is locked in, and the cause that a posted form chooses.

    Raises:
        AnswerError: nothing is locked in yet, or nothing is chosen.
    """
    locked = locked_in(site, exercise, seed, learner)
    chosen = next(iter(given.get(f"answer.{CAUSE}", ())), "")
    if not locked:
        raise AnswerError("predict first: nothing is measured before that")
    if not chosen:
        raise AnswerError("choose what explains the measurement")
    return {**locked, CAUSE: chosen}


def experiment_view(
    site: Site,
    exercise: Experiment,
    seed: int,
    learner: str,
    *,
    graded: bool,
    parts: Mapping[str, PartVerdict],
) -> ExperimentView:
    """What the page of *exercise* shows besides its text.

    What the formula says is shown once the prediction stands, or the exercise is *graded*: *parts*
    are its verdicts then.
    """
    lab = lab_called(exercise.lab)
    job = read_job(lab, exercise.parameters(seed))
    locked = locked_in(site, exercise, seed, learner)
    predictions = tuple(_predictions(exercise, seed, locked, shown=bool(locked) or graded))
    right = sum(part.correct is True for part in parts.values())
    return ExperimentView(
        lab=Link(f"/labs/{lab.name}", lab.title),
        kind=KINDS[lab.links],
        links=LINKS_SAY[lab.links],
        locked=bool(locked),
        is_wrong=any(one.correct is False for one in predictions),
        score=f"{right} of {len(parts)} right" if parts else "",
        predictions=predictions,
        runs=tuple(_runs(site, exercise, seed, job, learner, locked)) if locked or graded else (),
        trouble=site.labs.trouble,
        hidden=tuple(_hidden(exercise, seed, job, locked)),
        command=job.command,
        cause=inline_html(exercise.fill(exercise.cause.prompt, exercise.draw(seed))),
    )


def _predictions(
    exercise: Experiment, seed: int, locked: Mapping[str, str], *, shown: bool
) -> Iterator[PredictedView]:
    drawn, keys = exercise.draw(seed), exercise.keys(seed)
    judged = exercise.judged(seed, exercise.read(dict(locked))) if locked else {}
    for name, asked in exercise.predict.items():
        part = judged.get(name, PartVerdict(None, ""))
        yield PredictedView(
            what=inline_html(exercise.fill(asked.prompt, drawn)),
            yours=_typed(asked, locked.get(name, "")),
            correct=part.correct,
            says=inline_html(part.says),
            formula=asked.shown(keys[name].right) if shown else "",
            how=_how(asked.answer) if shown else Markup(),
        )


def _how(expression: str) -> Markup:
    """*expression* as its author wrote it; each formula in it leads to its page."""
    parts = _DOTTED.split(expression)
    link = Markup('<a href="/formulas/{0}">{0}</a>')
    return Markup().join(link.format(part) if part in FORMULAS else part for part in parts)


def _runs(
    site: Site,
    exercise: Experiment,
    seed: int,
    job: Job,
    learner: str,
    locked: Mapping[str, str],
) -> Iterator[RunView]:
    """Runs with the same parameters, the newest of each machine: the learner's own come first."""
    fitting = [k for k in finished(site, job.lab.name) if k.report and is_of(k.report, job)]
    fitting.sort(key=lambda kept: not _is_own(kept, learner))
    seen: set[tuple[str, str]] = set()
    for kept in fitting:
        report = kept.report
        if report is None or (where := (_origin(kept, learner), place_of(report))) in seen:
            continue
        seen.add(where)
        measured = tuple(
            _measured(exercise, name, seed, kept, locked.get(name, "")) for name in exercise.predict
        )
        if any(one.value for one in measured):
            link = Link(f"/labs/{report.lab}/{report.id}", place_of(report))
            yield RunView(
                link, f"{_origin(kept, learner)}, {report.backend}, {report.at[:10]}", measured
            )


def _measured(exercise: Experiment, name: str, seed: int, kept: Kept, typed: str) -> MeasuredView:
    asked, report = exercise.predict[name], kept.report
    found = found_in(report, asked.measured, *exercise.places(name, seed)) if report else None
    if found is None:
        return MeasuredView("", "", "")
    spread = ""
    if found.count > 1 and found.least != found.p90:
        low, high = asked.shown(found.least), asked.shown(found.p90)
        spread = f"{found.held} of {found.count}; fastest to p90: {low} to {high}"
    others = (
        ("yours", asked.read(typed).value if typed else 0.0),
        ("the formula", exercise.keys(seed)[name].right),
    )
    ratios = (f"{ratio_shown(found.value / value)} × {word}" for word, value in others if value)
    return MeasuredView(asked.shown(found.value), spread, ", ".join(ratios))


def _origin(kept: Kept, learner: str) -> str:
    return "yours" if _is_own(kept, learner) else kept.origin


def _is_own(kept: Kept, learner: str) -> bool:
    return bool(kept.row and learner and kept.row.learner == learner)


def _typed(asked: Asked, text: str) -> str:
    return asked.shown(asked.read(text).value) if text else ""


def _hidden(
    exercise: Experiment, seed: int, job: Job, locked: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The fields that ask for a run of this drawing."""
    yield from ((f"run.{name}", text) for name, text in job.given.items())
    yield "origin", address_of(exercise, seed).removeprefix("/exercises/")
    wanted = job.lab.asked_of(job.texts)
    for name, asked in exercise.predict.items():
        if asked.measured == wanted and name in locked and not asked.at and not asked.over:
            yield "guess", asked.typed(asked.read(locked[name]).value)
            return
