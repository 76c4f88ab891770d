"""Lab exercises on a page: predict, then compare with what was measured, then explain."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from app.formulas import FORMULAS
from app.kinds.answers import Answer, PartVerdict
from app.kinds.lab import CAUSE, LabExercise
from app.kinds.quantity import AskedQuantity
from app.labs.results.match import found_in, is_of
from app.labs.results.report import ratio_shown
from app.labs.spec import Job, lab_called, read_job
from app.markdown import inline_html
from app.site import Site
from app.web.exercise.posted import ActionResult, Posted
from app.web.exercise.prediction import explained, lock_in, locked_in
from app.web.exercise.views.base import Filled, Form, KindView, OtherForm, inline, named, typed
from app.web.exercise.views.choice import OptionView, option_views
from app.web.exercise.views.numeric import BoxView, box_views
from app.web.frame.rendering import Hyperlink
from app.web.labs.form import BACKEND
from app.web.labs.results import RunResult, finished
from app.web.labs.wording import KINDS, LINKS_SAY, place_of
from app.web.urls import exercise_url, run_url

_DOTTED = re.compile(r"([a-z]\w*(?:\.[a-z]\w*)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedView:
    """One prediction: the learner's, and once that is locked in, the value of the formula."""

    what: Markup
    yours: str
    correct: bool | None
    says: Markup
    formula: str
    how: Markup


@dataclass(frozen=True, slots=True)
class MeasuredView:
    """The measurement of one prediction in one run."""

    value: str
    spread: str
    ratios: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run with the same parameters."""

    machine: Hyperlink
    origin: str
    measured: tuple[MeasuredView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabForm(Form):
    """The predictions; once they are locked in, the measurements and the causes."""

    lab: Hyperlink
    kind: str
    links: str
    boxes: tuple[BoxView, ...]
    options: tuple[OptionView, ...]
    locked: bool
    is_wrong: bool
    predictions: tuple[PredictedView, ...]
    runs: tuple[RunView, ...]
    trouble: str
    command: str
    cause: Markup


class LabView(KindView[LabExercise]):
    """Boxes to predict in; then a table of measurements, and causes to choose from."""

    is_slow: ClassVar[bool] = True  # it reads every stored run of the lab

    def form(self, site: Site, exercise: LabExercise, filled: Filled) -> LabForm:
        """The prediction; with what the formula says once it is locked in, or graded."""
        seed, question = filled.seed, exercise.question(filled.seed)
        job = read_job(lab_called(exercise.lab), exercise.parameters(seed))
        locked = locked_in(site, exercise, seed, filled.learner)
        shown = bool(locked) or filled.graded
        predictions = tuple(_predictions(exercise, seed, locked, shown=shown))
        is_wrong = any(one.correct is False for one in predictions)
        return LabForm(
            whole_page=True,
            score=_score(filled.parts),
            retry="Predict again with new numbers" if is_wrong else "",
            other=_other_form(exercise, seed, job, locked) if locked else None,
            lab=Hyperlink(f"/labs/{job.lab.name}", job.lab.title),
            kind=KINDS[job.lab.links],
            links=LINKS_SAY[job.lab.links],
            boxes=tuple(box_views(question.fields, filled)),
            options=tuple(
                option_views(question.cause.options, filled.given.get(f"answer.{CAUSE}", ()))
            ),
            locked=bool(locked),
            is_wrong=is_wrong,
            predictions=predictions,
            runs=tuple(_runs(site, exercise, filled, job, locked)) if shown else (),
            trouble=site.labs.trouble,
            command=job.command,
            cause=inline_html(question.cause.prompt),
        )

    async def act(self, site: Site, exercise: LabExercise, posted: Posted) -> ActionResult | None:
        """Lock the prediction in.

        Raises:
            AnswerError: a number is missing, or cannot be read.
            TooLongError: it has more characters than the settings allow.
            UnavailableError: it cannot be stored.
        """
        if posted.action != "predict":
            return None
        await lock_in(site, exercise, posted.seed, posted.learner, posted.given)
        return ActionResult()

    def answer(self, site: Site, exercise: LabExercise, posted: Posted) -> Answer:
        """The locked prediction, and the cause that was chosen.

        Raises:
            AnswerError: there is no prediction yet, or no cause is chosen.
        """
        return explained(site, exercise, posted.seed, posted.learner, posted.given)

    def told(self, exercise: LabExercise, seed: int, stored: str) -> Iterator[Markup]:
        """What was predicted, and the cause that was chosen."""
        drawn, texts = exercise.draw(seed), named(stored)
        for name, text in texts.items():
            asked, cause = exercise.predict.get(name), exercise.cause.options.get(text)
            if name == CAUSE and cause:
                yield inline(exercise.fill(cause.text, drawn))
            else:
                title = inline(exercise.fill(asked.prompt, drawn)) if asked else typed(name)
                yield title + ": " + typed(text)
        if not texts:
            yield typed(stored)


def _score(parts: Mapping[str, PartVerdict]) -> str:
    right = sum(part.correct is True for part in parts.values())
    return f"{right} of {len(parts)} right" if parts else ""


def _predictions(
    exercise: LabExercise, seed: int, locked: Mapping[str, str], *, shown: bool
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
    site: Site, exercise: LabExercise, filled: Filled, job: Job, locked: Mapping[str, str]
) -> Iterator[RunView]:
    """Runs with the same parameters, the newest of each machine: the learner's own come first."""
    fitting = [k for k in finished(site, job.lab.name) if k.report and is_of(k.report, job)]
    fitting.sort(key=lambda kept: not _is_own(kept, filled.learner))
    seen: set[tuple[str, str]] = set()
    for kept in fitting:
        report = kept.report
        if report is None or (where := (_origin(kept, filled.learner), place_of(report))) in seen:
            continue
        seen.add(where)
        measured = tuple(
            _measured(exercise, name, filled.seed, kept, locked.get(name, ""))
            for name in exercise.predict
        )
        if any(one.value for one in measured):
            link = Hyperlink(run_url(report.lab, report.id), place_of(report))
            origin = f"{where[0]}, {report.backend}, {report.at[:10]}"
            yield RunView(link, origin, measured)


def _measured(
    exercise: LabExercise, name: str, seed: int, kept: RunResult, typed: str
) -> MeasuredView:
    asked, report = exercise.predict[name], kept.report
    found = found_in(report, asked.measured, *exercise.places(name, seed)) if report else None
    if found is None:
        return MeasuredView("", "", "")
    spread = ""
    if found.count > 1 and found.least != found.p90:
        low, high = asked.shown(found.least), asked.shown(found.p90)
        spread = f"{found.held} of {found.count}; min to p90: {low} to {high}"
    others = (
        ("yours", asked.read(typed).value if typed else 0.0),
        ("the formula", exercise.keys(seed)[name].right),
    )
    ratios = (f"{ratio_shown(found.value / value)} × {word}" for word, value in others if value)
    return MeasuredView(asked.shown(found.value), spread, ", ".join(ratios))


def _origin(kept: RunResult, learner: str) -> str:
    return "yours" if _is_own(kept, learner) else kept.origin


def _is_own(kept: RunResult, learner: str) -> bool:
    return bool(kept.row and learner and kept.row.learner == learner)


def _typed(asked: AskedQuantity, text: str) -> str:
    return asked.shown(asked.read(text).value) if text else ""


def _other_form(exercise: LabExercise, seed: int, job: Job, locked: Mapping[str, str]) -> OtherForm:
    """The form that starts a run of this drawing."""
    hidden = tuple(_hidden(exercise, seed, job, locked))
    return OtherForm(id="lab-run", action=f"/labs/{job.lab.name}", hidden=hidden)


def _hidden(
    exercise: LabExercise, seed: int, job: Job, locked: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The fields that ask for a run of this drawing."""
    yield from ((f"run.{name}", text) for name, text in job.given.items())
    if job.lab.gpu and job.lab.links != "real":
        yield BACKEND, "gloo"  # the exercise is about what is counted or emulated
    yield "origin", exercise_url(exercise.id, seed).removeprefix("/exercises/")
    asked_for = job.lab.asked_of(job.given)
    for name, asked in exercise.predict.items():
        if asked.measured == asked_for and name in locked and not asked.at and not asked.over:
            yield "guess", asked.typed(asked.read(locked[name]).value)
            return


VIEW = LabView()
