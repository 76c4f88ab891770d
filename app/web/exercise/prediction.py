"""A learner's prediction of what a lab will measure: locked in once, and then final."""

import json

from app.db.queries import forget_prediction, prediction_of
from app.db.session import open_session
from app.db.tables import Prediction
from app.errors import AnswerError
from app.kinds import Exercise
from app.kinds.answers import Answer, refuse_longer
from app.kinds.lab import CAUSE, LabExercise
from app.site import Site
from app.web.exercise.posted import Fields, first


def locked_in(site: Site, exercise: LabExercise, seed: int, learner: str) -> dict[str, str]:
    """The prediction of *learner* for that drawing; empty before there is one."""
    text = _stored(site, exercise, seed, learner)
    return json.loads(text) if text and _fits(text, exercise) else {}


async def lock_in(
    site: Site, exercise: LabExercise, seed: int, learner: str, given: Fields
) -> None:
    """Store the prediction of a posted form; an earlier one stays.

    Raises:
        AnswerError: a number is missing, or cannot be read.
        TooLongError: it has more characters than the settings allow.
        UnavailableError: it cannot be stored.
    """
    answer = exercise.answer_in(given)
    refuse_longer(answer, site.settings.answer_limit)
    exercise.read(answer)
    stored = _stored(site, exercise, seed, learner)
    if stored and not _fits(stored, exercise):
        with open_session(site.engine) as session:
            forget_prediction(session, learner, exercise.id, seed, stored)
    texts = {name: text.strip() for name, text in answer.items() if name != CAUSE}
    row = Prediction(learner=learner, exercise=exercise.id, seed=seed, answer=json.dumps(texts))
    await site.writer.put(row)


def explained(site: Site, exercise: LabExercise, seed: int, learner: str, given: Fields) -> Answer:
    """The locked prediction, and the cause that a posted form chooses.

    Raises:
        AnswerError: there is no prediction yet, or no cause is chosen.
    """
    locked = locked_in(site, exercise, seed, learner)
    chosen = first(given, f"answer.{CAUSE}")
    if not locked:
        raise AnswerError("predict first: measurements are shown only after that")
    if not chosen:
        raise AnswerError("choose what explains the measurement")
    return {**locked, CAUSE: chosen}


def _stored(site: Site, exercise: LabExercise, seed: int, learner: str) -> str | None:
    if not learner:
        return None
    with open_session(site.engine) as session:
        return prediction_of(session, learner, exercise.id, seed)


def _fits(prediction: str, exercise: LabExercise) -> bool:
    """Whether *prediction* has the names that *exercise* asks for; its author may change them."""
    return bool(json.loads(prediction).keys() == exercise.predict.keys())


def lab_of(exercise: Exercise) -> str:
    """The lab that *exercise* runs; empty if it runs none."""
    return exercise.lab if isinstance(exercise, LabExercise) else ""
