"""Lab exercises on a page: predict, then compare with what was measured, then explain."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from app.core.errors import AnswerError
from app.core.formulas import FORMULAS
from app.core.translation import noted, translate
from app.course.kinds.base import Answer, Option, PartVerdict, refuse_longer
from app.course.kinds.choice import CAUSE, LabExercise
from app.course.kinds.numeric import refuse_unclear
from app.labs.results.report import Report, ratio_shown
from app.labs.spec import LabJob, lab_called, read_job
from app.site.labs.match import BORROWING, MatchedResult, find_result, is_of, is_same_job
from app.site.labs.words import translate_lab
from app.site.markdown import inline_html
from app.site.web.exercise import views
from app.site.web.exercise.lab_tests import OWN
from app.site.web.exercise.page_context import ActionResult, PostedForm, first_value
from app.site.web.exercise.views.forms import BoxView, box_views
from app.site.web.frame.renderer import Hyperlink
from app.site.web.labs.predictions import BACKEND, KINDS, LINKS_SAY, machine_of
from app.site.web.labs.results import RunResult
from app.site.web.urls import exercise_url, run_url

TAKEN = "taken"  # the field with the name of the test that is taken for the measurement
_MEASURED = "/measured"
_SHORT = 24  # characters of a title
_SHOWN = 3  # tests, where there are no runs


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
    taken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrowable:
    """A test that may be taken for the measurement, and whose it is; *short*: for a narrow list."""

    name: str
    short: str
    says: str
    whose: str
    chosen: bool
    report: Report


def borrowables(exercise: LabExercise, filled: views.FormInput, job: LabJob) -> Iterator[Borrowable]:
    """The published and the learner's own tests that have everything that is asked."""
    if job.lab.name != BORROWING:
        return
    chosen = first_value(filled.given, TAKEN)
    for name, (report, says, whose) in filled.context.tests.items():
        if is_same_job(report, job, any_ranks=exercise.any_ranks) and all(
            _found(exercise, one, filled.seed, report) for one in exercise.predict
        ):
            short = f"yours: {says[:_SHORT]}" if whose == OWN else f"{name}, {report.ranks} ranks"
            yield Borrowable(name=name, short=short, says=says, whose=whose, chosen=name == chosen, report=report)


def runs_of(
    exercise: LabExercise, filled: views.FormInput, job: LabJob, locked: Mapping[str, str]
) -> Iterator[RunView]:
    """Runs with the same parameters, the newest of each machine: the learner's own come first.

    Ahead of them is the test that was taken for the measurement; if nothing has run yet, a few tests to run.
    """
    others = list(borrowables(exercise, filled, job))
    runs = list(_of_the_lab(exercise, filled, job, locked))
    taken = [one for one in others if one.chosen]
    for one in taken or (others[:_SHOWN] if not runs else ()):
        link = Hyperlink(f"{_MEASURED}/{one.name}", one.says)
        measured = tuple(
            _measured(exercise, name, filled.seed, one.report, locked.get(name, "")) for name in exercise.predict
        )
        origin = translate("taken as your measurement; {whose}", whose=one.whose) if one.chosen else one.whose
        yield RunView(link, origin, measured, taken=one.chosen)
    yield from runs


def _of_the_lab(
    exercise: LabExercise, filled: views.FormInput, job: LabJob, locked: Mapping[str, str]
) -> Iterator[RunView]:
    on_gpus = exercise.backend != "gloo"
    runs = [run for run in filled.context.runs if run.report and is_of(run.report, job)]
    fitting = [run for run in runs if run.report and (not on_gpus or run.report.backend == "nccl")]
    fitting.sort(key=lambda kept: not _is_own(kept, filled.learner))
    seen: set[tuple[str, str]] = set()
    for kept in fitting:
        report = kept.report
        origin = translate("yours") if _is_own(kept, filled.learner) else kept.origin
        if report is None or (where := (origin, machine_of(report))) in seen:
            continue
        seen.add(where)
        measured = tuple(
            _measured(exercise, name, filled.seed, report, locked.get(name, "")) for name in exercise.predict
        )
        if any(one.value for one in measured):
            link = Hyperlink(run_url(report.lab, report.id), machine_of(report))
            origin = f"{origin}, {report.backend}, {report.at[:10]}"
            if report.doubts:
                origin = translate("{origin}, disturbed", origin=origin)
            yield RunView(link, origin, measured)


def _found(exercise: LabExercise, name: str, seed: int, report: Report) -> MatchedResult | None:
    return find_result(report, exercise.predict[name].measured, *exercise.places(name, seed))


def _measured(exercise: LabExercise, name: str, seed: int, report: Report, typed: str) -> MeasuredView:
    asked, found = exercise.predict[name], _found(exercise, name, seed, report)
    if found is None:
        return MeasuredView("", "", "")
    spread = ""
    if found.count > 1 and found.least != found.p90:
        low, high = asked.shown(found.least), asked.shown(found.p90)
        spread = translate(
            "{held} of {count}; min to p90: {low} to {high}", held=found.held, count=found.count, low=low, high=high
        )
    others = (
        (translate("yours"), asked.read(typed).value if typed else 0.0),
        (translate("the formula"), exercise.keys(seed)[name].right),
    )
    compared = () if report.doubts else others
    ratios = (f"{ratio_shown(found.value / value)} × {word}" for word, value in compared if value)
    return MeasuredView(asked.shown(found.value), spread, ", ".join(ratios))


def _is_own(kept: RunResult, learner: str) -> bool:
    return bool(kept.row and learner and kept.row.learner == learner)


TAKE = "take"  # the button that takes a test for the measurement
_REAL = noted("Real links, timed. Each row says on which machine, and who measured.")
_DOTTED = re.compile(r"(?<!\w)([a-z]\w*+(?:\.[a-z]\w*+)+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedView:
    """One prediction: the learner's, and once that is locked in, the value of the formula."""

    what: Markup
    yours: str
    correct: bool | None
    says: Markup
    formula: str
    how: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class LabForm(views.Form):
    """The predictions; once they are locked in, the measurements and the causes."""

    lab: Hyperlink
    kind: str
    links: str
    boxes: tuple[BoxView, ...]
    options: tuple[Option, ...]
    chosen: Sequence[str]
    locked: bool
    is_wrong: bool
    predictions: tuple[PredictedView, ...]
    runs: tuple[RunView, ...]
    others: tuple[Borrowable, ...]
    trouble: str
    command: str
    cause: Markup


class LabView(views.KindView[LabExercise]):
    """Boxes to predict in; then a table of measurements, and causes to choose from."""

    is_slow: ClassVar[bool] = True  # it reads every stored run of the lab

    def context(self, exercise: LabExercise, seed: int, tools: views.KindTools, *, graded: bool) -> views.FormContext:
        """What is stored of the lab; runs and tests are read only once they may be shown."""
        locked = _locked_in(tools, exercise, seed)
        shown = graded or bool(locked)
        is_enough = bool(tools.lab_trouble) or exercise.backend == "gloo"
        return views.FormContext(
            locked=locked,
            runs=tools.runs(exercise.lab) if shown else (),
            tests=tools.tests() if shown and exercise.lab == BORROWING else {},
            trouble=tools.lab_trouble,
            gpus=0 if is_enough else tools.gpus,
        )

    def form(self, exercise: LabExercise, filled: views.FormInput) -> LabForm:
        """The prediction; with what the formula says once it is locked in, or graded."""
        seed, question = filled.seed, exercise.question(filled.seed)
        lab = translate_lab(lab_called(exercise.lab)).on(exercise.backend)
        job = read_job(lab, exercise.parameters(seed))
        locked = filled.context.locked
        shown = bool(locked) or filled.graded
        predictions = tuple(_predictions(exercise, seed, locked, shown=shown))
        is_wrong = any(one.correct is False for one in predictions)
        right = sum(part.correct is True for part in filled.parts.values())
        hidden = tuple(_hidden(exercise, seed, job, locked)) if locked else ()
        links = _REAL if exercise.backend == "nccl" else LINKS_SAY[job.lab.links]
        return LabForm(
            whole_page=True,
            score=translate("{right} of {count} right", right=right, count=len(filled.parts)) if filled.parts else "",
            retry=translate("Predict again with new numbers") if is_wrong else "",
            other=views.OtherForm(id="lab-run", action=f"/labs/{job.lab.name}", hidden=hidden) if locked else None,
            lab=Hyperlink(f"/labs/{job.lab.name}", job.lab.title),
            kind=translate(KINDS[job.lab.links]),
            links=translate(links),
            boxes=tuple(box_views(question.fields, filled)),
            options=question.cause.options,
            chosen=filled.given.get(f"answer.{CAUSE}", ()),
            locked=bool(locked),
            is_wrong=is_wrong,
            predictions=predictions,
            runs=tuple(runs_of(exercise, filled, job, locked)) if shown else (),
            others=tuple(borrowables(exercise, filled, job)) if locked else (),
            trouble=_trouble(filled.context, job, exercise),
            command=f"{job.command} --backend nccl" if exercise.backend == "nccl" else job.command,
            cause=inline_html(question.cause.prompt),
        )

    async def act(self, exercise: LabExercise, posted: PostedForm, tools: views.KindTools) -> ActionResult | None:
        """Lock the prediction in; or show the test of others that is taken for the measurement.

        Raises:
            AnswerError: a number is missing, or cannot be read.
            TooLongError: it has more characters than the settings allow.
            UnavailableError: it cannot be stored.
        """
        if posted.action == TAKE:
            return ActionResult()
        if posted.action != "predict":
            return None
        answer = exercise.answer_in(posted.given)
        refuse_longer(answer, tools.answer_limit)
        exercise.read(answer)
        for text in answer.values():
            refuse_unclear(text)
        stored = tools.prediction(exercise.id, posted.seed)  # which stays, if it fits
        gone = stored if stored and not _fits(stored, exercise) else ""
        texts = {name: text.strip() for name, text in answer.items() if name != CAUSE}
        await tools.replace_prediction(exercise.id, posted.seed, gone, json.dumps(texts))
        return ActionResult()

    def answer(self, exercise: LabExercise, posted: PostedForm, tools: views.KindTools) -> Answer:
        """The locked prediction, and the cause that was chosen.

        Raises:
            AnswerError: there is no prediction yet, or no cause is chosen.
        """
        locked = _locked_in(tools, exercise, posted.seed)
        chosen = first_value(posted.given, f"answer.{CAUSE}")
        if not locked:
            raise AnswerError(translate("predict first: measurements are shown only after that"))
        if not chosen:
            raise AnswerError(translate("choose what explains the measurement"))
        return {**locked, CAUSE: chosen}

    def told(self, exercise: LabExercise, seed: int, stored: str) -> Iterator[Markup]:
        """What was predicted, and the cause that was chosen."""
        drawn, texts = exercise.draw(seed), views.stored_names(stored)
        for name, text in texts.items():
            asked, cause = exercise.predict.get(name), exercise.cause.options.get(text)
            if name == CAUSE and cause:
                yield views.inline(exercise.fill(cause.text, drawn))
            else:
                title = views.inline(exercise.fill(asked.prompt, drawn)) if asked else views.typed_line(name)
                yield views.answer_line(title, views.typed_line(text))
        if not texts:
            yield views.typed_line(stored)


def _trouble(found: views.FormContext, job: LabJob, exercise: LabExercise) -> str:
    """Why this server cannot run *job*; empty if it can."""
    if found.trouble or exercise.backend == "gloo" or found.gpus >= job.ranks:
        return found.trouble
    return translate("it takes {ranks} GPUs, and this server has {usable}", ranks=job.ranks, usable=found.gpus)


def _predictions(
    exercise: LabExercise, seed: int, locked: Mapping[str, str], *, shown: bool
) -> Iterator[PredictedView]:
    drawn, keys = exercise.draw(seed), exercise.keys(seed)
    judged = exercise.judged(seed, exercise.read(dict(locked))) if locked else {}
    link = Markup('<a href="/formulas/{0}">{0}</a>')
    for name, asked in exercise.predict.items():
        # As its author wrote it; each formula in it leads to its page.
        how = (link.format(one) if one in FORMULAS else one for one in _DOTTED.split(asked.answer))
        part, typed = judged.get(name, PartVerdict(None, "")), locked.get(name, "")
        yield PredictedView(
            what=inline_html(exercise.fill(asked.prompt, drawn)),
            yours=asked.shown(asked.read(typed).value) if typed else "",
            correct=part.correct,
            says=inline_html(part.says),
            formula=asked.shown(keys[name].right) if shown else "",
            how=Markup().join(how) if shown else Markup(),
        )


def _hidden(exercise: LabExercise, seed: int, job: LabJob, locked: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The fields that ask for a run of this drawing."""
    yield from ((f"run.{name}", text) for name, text in job.given.items())
    if exercise.backend == "nccl":
        yield BACKEND, "nccl"
    elif job.lab.gpu and job.lab.links != "real":
        yield BACKEND, "gloo"  # the exercise is about what is counted or emulated
    yield "origin", exercise_url(exercise.id, seed).removeprefix("/exercises/")
    asked_for = job.lab.asked_of(job.given)
    for name, asked in exercise.predict.items():
        if asked.measured == asked_for and name in locked and not asked.at and not asked.over:
            yield "guess", asked.typed(asked.read(locked[name]).value)
            return


def _locked_in(tools: views.KindTools, exercise: LabExercise, seed: int) -> Mapping[str, str]:
    """The prediction of the learner for that drawing; empty before there is one."""
    text = tools.prediction(exercise.id, seed)
    if not text or not _fits(text, exercise):
        return {}
    texts: Mapping[str, str] = json.loads(text)
    return texts


def _fits(prediction: str, exercise: LabExercise) -> bool:
    """Whether *prediction* has the names that *exercise* asks for; its author may change them."""
    return bool(json.loads(prediction).keys() == exercise.predict.keys())


VIEWS = (LabView(),)
