"""A schedule that an address carries: read, played again, and drawn."""

from dataclasses import replace

from app.core.charts.axes import Drawing
from app.core.errors import NotFoundError
from app.core.simulators.programs import PlayedSchedule, play_schedule, read_schedule_code
from app.core.translation import localize, plural, translate
from app.course.content.catalog import Catalog
from app.course.illustrations.base import schedule_sketch
from app.course.kinds.code.schedule import Schedule


def schedule_exercise(catalog: Catalog, exercise: str) -> Schedule:
    """The exercise called *exercise*.

    Raises:
        NotFoundError: it asks for something else than a schedule.
    """
    found = catalog.exercise(exercise)
    if not isinstance(found, Schedule):
        raise NotFoundError(translate("{exercise} is not an exercise on schedules", exercise=exercise))
    return found


def shared_schedule(exercise: Schedule, code: str) -> PlayedSchedule:
    """The schedule that *code* is, played on the machine of *exercise*.

    Raises:
        NotFoundError: it is not one that runs to its end there.
    """
    machine = exercise.machine.built(exercise.targets.memory)
    try:
        programs = read_schedule_code(code)
    except ValueError as error:
        raise NotFoundError(localize(str(error))) from None
    ranks = len(machine.start)
    if len(programs) != ranks:
        raise NotFoundError(
            plural(
                "this exercise has {number} rank, and the schedule {programs}",
                "this exercise has {number} ranks, and the schedule {programs}",
                ranks,
                programs=len(programs),
            )
        )
    played = play_schedule(machine, programs)
    if played.problem:
        raise NotFoundError(translate("this schedule does not run to its end in {exercise}", exercise=exercise.id))
    return played


def schedule_drawing(exercise: Schedule, played: PlayedSchedule) -> Drawing:
    """The picture of *played*, named after the *exercise*."""
    title = translate("A schedule for “{exercise}”", exercise=exercise.title)
    return replace(schedule_sketch(played), title=title)
