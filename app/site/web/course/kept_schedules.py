"""A learner's right schedules, as their answers are stored: played again, with pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from app.core.errors import UnavailableError
from app.core.simulators.programs import PlayedSchedule, schedule_code
from app.course.kinds.code.schedule import Schedule
from app.course.kinds.memo import Remembered
from app.course.sandbox.runner import Runner
from app.server.db.history import ExerciseHistory
from app.site.web.course.schedule_measures import ScheduleMeasures, measure_texts, measures_of
from app.site.web.urls import schedule_url


@dataclass(frozen=True, slots=True)
class KeptSchedule:
    """When a schedule was sent, what it costs, also as text, and the page of its picture if any."""

    at: datetime
    measures: ScheduleMeasures
    texts: tuple[str, ...]
    href: str


Replay = tuple[ScheduleMeasures, str]  # and the page of its picture
_replays: Remembered[tuple[str, str, bytes], Replay | None] = Remembered()


async def kept_schedules(
    exercise: Schedule, history: ExerciseHistory, runner: Runner, learner: str
) -> Sequence[KeptSchedule]:
    """The different right schedules among the last answers in *history*, newest first.

    Those are left out whose verdict is hidden, or whose solution had been shown; while the sandbox
    is away, those that were not played before are.
    """
    found: dict[Replay, KeptSchedule] = {}
    for one in history.last.shown:
        if not one.correct or one.revealed or history.hides(exercise.id, one.seed):
            continue
        replay = await _replay(exercise, one.answer, runner, learner)
        if replay is not None and replay not in found:
            measures, href = replay
            texts = measure_texts(exercise.machine, measures)
            found[replay] = KeptSchedule(one.at, measures, texts, href)
    return tuple(found.values())


async def _replay(exercise: Schedule, answer: str, runner: Runner, learner: str) -> Replay | None:
    """What a stored answer costs; None if it is right no more, or cannot be played now."""
    key = exercise.id, exercise.digest, sha256(answer.encode()).digest()
    if key in _replays:
        return _replays[key]
    try:
        played = await exercise.play(answer, runner, learner)
    except UnavailableError:
        return None
    if not isinstance(played, PlayedSchedule) or exercise.judge(played)[0]:
        return _replays.keep(key, None)
    code = schedule_code(played)
    href = schedule_url(exercise.id, code) if code else ""
    return _replays.keep(key, (measures_of(played), href))
