"""What the forms of some kinds show beside the exercise, read from the server for them."""

from app.errors import AnswerError
from app.kinds import Exercise
from app.kinds.answers import Answer
from app.kinds.lab import CAUSE, LabExercise
from app.labs.results.match import BORROWING
from app.site import Site
from app.translation import translate
from app.web.exercise.kind_buttons import locked_prediction
from app.web.exercise.lab_tests import tests_to_take
from app.web.exercise.posted_form import PostedForm, first
from app.web.exercise.views.base import FormContext, LabRecord
from app.web.labs.results import finished


def form_context(
    site: Site, exercise: Exercise, seed: int, learner: str, *, graded: bool
) -> FormContext:
    """The context of the form of *exercise*, which may be *graded* already; reading takes long."""
    if isinstance(exercise, LabExercise):
        return FormContext(lab=_lab_record(site, exercise, seed, learner, graded=graded))
    return FormContext(health=site.runner.health)


def lab_answer(site: Site, exercise: LabExercise, posted: PostedForm) -> Answer:
    """The locked prediction, and the cause that a posted form chooses.

    Raises:
        AnswerError: there is no prediction yet, or no cause is chosen.
    """
    locked = locked_prediction(site, exercise, posted.seed, posted.learner)
    chosen = first(posted.given, f"answer.{CAUSE}")
    if not locked:
        raise AnswerError(translate("predict first: measurements are shown only after that"))
    if not chosen:
        raise AnswerError(translate("choose what explains the measurement"))
    return {**locked, CAUSE: chosen}


def _lab_record(
    site: Site, exercise: LabExercise, seed: int, learner: str, *, graded: bool
) -> LabRecord:
    """What is stored of the lab; runs and tests are read only once they may be shown."""
    locked = locked_prediction(site, exercise, seed, learner)
    shown = graded or bool(locked)
    is_enough = bool(site.labs.trouble) or exercise.backend == "gloo"
    return LabRecord(
        locked=locked,
        runs=tuple(finished(site, exercise.lab)) if shown else (),
        tests=tests_to_take(site, learner) if shown and exercise.lab == BORROWING else {},
        trouble=site.labs.trouble,
        gpus=0 if is_enough else site.labs.devices().usable,
    )
