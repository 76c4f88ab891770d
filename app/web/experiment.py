"""The part of an exercise's page that predicts, and then shows what was measured."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from app.db.queries import forget_prediction, predicted
from app.db.session import open_session
from app.db.tables import Prediction
from app.errors import AnswerError
from app.kinds.asked import Asked
from app.kinds.base import Answer
from app.kinds.experiment import CAUSE, Experiment
from app.kinds.length import refuse_longer
from app.labs import Job, lab_called, read_job
from app.labs.matching import found_in, is_of
from app.markdown import inline_html
from app.site import Site
from app.web.forms import Given
from app.web.kept_runs import Kept, finished
from app.web.lab_words import KINDS, LINKS_SAY, place_of
from app.web.rendering import Link
from app.web.standing import address_of


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """What one run measured of one prediction."""

    value: str
    spread: str
    ratio: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with the same parameters."""

    machine: Link
    origin: str
    measured: tuple[MeasuredView, ...]


@dataclass(frozen=True, slots=True)
class ExperimentView:
    """What is predicted, and what was measured once that is locked in."""

    lab: Link
    kind: str
    links: str
    locked: bool
    predictions: tuple[tuple[Markup, str, str], ...]  # what, the learner's, the formula's
    runs: tuple[RunView, ...]
    trouble: str
    hidden: tuple[tuple[str, str], ...]
    command: str
    cause: Markup


def locked_in(site: Site, exercise: Experiment, seed: int, learner: str) -> Mapping[str, str]:
    """What *learner* has predicted of that drawing; nothing before."""
    if not learner:
        return {}
    with open_session(site.engine) as session:
        text = predicted(session, learner, exercise.id, seed)
    found = dict(json.loads(text)) if text else {}
    return found if found.keys() == exercise.predict.keys() else {}  # else its author changed it


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
    assert isinstance(answer, dict)
    if not locked_in(site, exercise, seed, learner):
        with open_session(site.engine) as session:
            forget_prediction(session, learner, exercise.id, seed)
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
    site: Site, exercise: Experiment, seed: int, learner: str, *, graded: bool
) -> ExperimentView:
    """What the page of *exercise* shows besides its text; the formula's word if it is *graded*."""
    lab = lab_called(exercise.lab)
    job = read_job(lab, exercise.parameters(seed))
    locked = locked_in(site, exercise, seed, learner)
    drawn, keys = exercise.draw(seed), exercise.keys(seed)
    return ExperimentView(
        lab=Link(f"/labs/{lab.name}", lab.title),
        kind=KINDS[lab.links],
        links=LINKS_SAY[lab.links],
        locked=bool(locked),
        predictions=tuple(
            (
                inline_html(exercise.fill(asked.prompt, drawn)),
                _typed(asked, locked.get(name, "")),
                asked.shown(keys[name].right) if graded else "",
            )
            for name, asked in exercise.predict.items()
        ),
        runs=tuple(_runs(site, exercise, seed, job, learner, locked)) if locked or graded else (),
        trouble=site.labs.trouble,
        hidden=tuple(_hidden(exercise, seed, job, locked)),
        command=job.command,
        cause=inline_html(exercise.fill(exercise.cause.prompt, drawn)),
    )


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
    asked = exercise.predict[name]
    assert kept.report is not None
    found = found_in(kept.report, asked.measured, *exercise.places(name, seed))
    if found is None:
        return MeasuredView("", "", "")
    spread = ""
    if found.count > 1 and found.least != found.p90:
        low, high = asked.shown(found.least), asked.shown(found.p90)
        spread = f"{low} to {high}, n = {found.count}"
    mine = asked.read(typed).value if typed else 0.0
    return MeasuredView(
        asked.shown(found.value), spread, f"{found.value / mine:.3g}" if mine else ""
    )


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
