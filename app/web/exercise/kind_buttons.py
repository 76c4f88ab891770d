"""The buttons that only exercises of one kind have: Run, Predict, and taking a test of others."""

import json
from collections.abc import Mapping

from app.aside import aside
from app.db.tables import Prediction
from app.kinds import Exercise
from app.kinds.answers import refuse_longer
from app.kinds.code.feedback import Trial
from app.kinds.code.function import Function
from app.kinds.code.schedule import Schedule
from app.kinds.lab import CAUSE, LabExercise
from app.simulators.programs import PlayedSchedule
from app.site import Site
from app.web.exercise.posted_form import ActionResult, PostedForm, first
from app.web.standing.records import open_records

TAKE = "take"  # the button that takes a test for the measurement


async def press(site: Site, exercise: Exercise, posted: PostedForm) -> ActionResult | None:
    """The result of a button that only the kind of *exercise* has; None for any other button.

    Raises:
        AnswerError: there is nothing to run, or a predicted number cannot be read.
        TooLongError: what was sent has more characters than the settings allow.
        UnavailableError: the sandbox cannot run it, or the database cannot store it.
    """
    match posted.action, exercise:
        case "run", Function():
            return await _try_out(site, exercise, posted)
        case "run", Schedule():
            return await _play(site, exercise, posted)
        case "predict", LabExercise():
            await _lock_in(site, exercise, posted)
            return ActionResult()
        case "take", LabExercise():
            return ActionResult()
    return None


def locked_prediction(
    site: Site, exercise: LabExercise, seed: int, learner: str
) -> Mapping[str, str]:
    """The prediction of *learner* for that drawing; empty before there is one."""
    text = _stored(site, exercise, seed, learner)
    if not text or not _fits(text, exercise):
        return {}
    texts: Mapping[str, str] = json.loads(text)
    return texts


async def _try_out(site: Site, exercise: Function, posted: PostedForm) -> ActionResult:
    """Run the visible examples."""
    source = first(posted.given, "answer")
    refuse_longer(source, site.settings.answer_limit)
    runner = site.runner.on_behalf_of(posted.client)
    return ActionResult(trial=await exercise.try_out(posted.seed, source, runner, posted.learner))


async def _play(site: Site, exercise: Schedule, posted: PostedForm) -> ActionResult:
    """Play the schedule."""
    source = first(posted.given, "answer")
    refuse_longer(source, site.settings.answer_limit)
    runner = site.runner.on_behalf_of(posted.client)
    found = await exercise.play(source, runner, posted.learner)
    if isinstance(found, PlayedSchedule):
        return ActionResult(played=found)
    return ActionResult(trial=Trial(problem=found, line=None, printed="", runs=()))


async def _lock_in(site: Site, exercise: LabExercise, posted: PostedForm) -> None:
    """Store the prediction of a posted form; an earlier one stays."""
    seed, learner = posted.seed, posted.learner
    answer = exercise.answer_in(posted.given)
    refuse_longer(answer, site.settings.answer_limit)
    exercise.read(answer)
    stored = _stored(site, exercise, seed, learner)
    if stored and not _fits(stored, exercise):
        await aside(_forget, site, learner, exercise, seed, stored)
    texts = {name: text.strip() for name, text in answer.items() if name != CAUSE}
    row = Prediction(learner=learner, exercise=exercise.id, seed=seed, answer=json.dumps(texts))
    await site.writer.put(row)


def _forget(site: Site, learner: str, exercise: LabExercise, seed: int, stored: str) -> None:
    with open_records(site, learner) as records:
        records.forget_prediction(exercise.id, seed, stored)


def _stored(site: Site, exercise: LabExercise, seed: int, learner: str) -> str | None:
    if not learner:
        return None
    with open_records(site, learner) as records:
        return records.prediction(exercise.id, seed)


def _fits(prediction: str, exercise: LabExercise) -> bool:
    """Whether *prediction* has the names that *exercise* asks for; its author may change them."""
    return bool(json.loads(prediction).keys() == exercise.predict.keys())
