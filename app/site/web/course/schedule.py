"""Schedules: what they cost beside each other, and one that an address carries, as a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.charts.axes import Drawing
from app.core.charts.svg import to_svg
from app.core.charts.timeline import SCHEDULE_NAMES
from app.core.errors import NotFoundError, capitalize
from app.core.simulators.programs import COMPUTE, PlayedSchedule, known_schedules, play_schedule, read_schedule_code
from app.core.translation import localize, plural, translate, translate_known
from app.core.units import scale_of, show_in
from app.course.content.catalog import Catalog
from app.course.illustrations.base import schedule_sketch
from app.course.kinds.base import ValueCache
from app.course.kinds.code.schedule import Schedule, TargetMachine
from app.server.network.routes import Router
from app.site import Here
from app.site.web.explore.figures import BOTH, drawn_on
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.urls import exercise_url, schedule_url


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMeasures:
    """What a schedule called *name* takes: units of time and memory, and sends; None: not known."""

    name: str
    time: float
    memory: float | None
    sends: float | None = None


def measures_of(name: str, played: PlayedSchedule) -> NamedMeasures:
    """What *played* costs."""
    return NamedMeasures(name=name, time=played.time, memory=max(played.peaks), sends=played.sends)


_known: ValueCache[tuple[str, str], Sequence[NamedMeasures]] = ValueCache()


def known_measures(exercise: Schedule) -> Sequence[NamedMeasures]:
    """The published schedules on the machine of *exercise*, if it is a pipeline."""
    machine = exercise.machine
    if machine.holds != "stages":
        return ()
    found = _known.of(
        (exercise.id, exercise.digest),
        lambda: [
            measures_of(SCHEDULE_NAMES[name], played)
            for name, played in known_schedules(machine.built(None), machine.batches).items()
        ],
    )
    return [replace(one, name=capitalize(translate_known(one.name))) for one in found]


def measures_table(machine: TargetMachine, rows: Sequence[NamedMeasures]) -> tuple[tuple[str, ...], ...]:
    """The *rows* beside each other, by what schedules of *machine* differ in, below a header."""
    columns = [(translate("Time, in units"), [_whole(one.time) for one in rows])]
    if machine.work:
        label = translate("Bubble: share of time without new work")
        # Of the time of all ranks, what no needed pass fills; repeated passes are not needed.
        idle = [max(0.0, 1 - machine.work / (machine.ranks * one.time)) if one.time else 0.0 for one in rows]
        columns.append((label, [show_in(share, scale_of("%"), 3) for share in idle]))
    if machine.size:
        columns.append((translate("Memory of the fullest rank, in units"), [_whole(one.memory) for one in rows]))
    if set(machine.cost) - COMPUTE:
        columns.append((translate("Sends of all ranks"), [_whole(one.sends) for one in rows]))
    names = (translate("Schedule"), *(row.name for row in rows))
    return tuple(zip(names, *((label, *texts) for label, texts in columns), strict=True))


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


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


router = Router(prefix="/exercises")


@router.get("/{topic}/{slug}/schedule")
def show_schedule_page(request: Request, site: Here, topic: str, slug: str, of: str = "") -> Response:
    """The picture of the schedule in the address, and a way to try the puzzle."""
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    if not of:
        return RedirectResponse(exercise_url(exercise.id), 303)
    played = shared_schedule(exercise, of)
    drawing = schedule_drawing(exercise, played)
    misses, _ = exercise.judge(played)
    address = schedule_url(exercise.id, of)
    published = () if misses else known_measures(exercise)  # they would give a hint
    this, targets = measures_of(translate("This schedule"), played), exercise.targets
    target = NamedMeasures(name=translate("Target"), time=targets.time, memory=targets.memory)
    says = plural("A schedule of {number} unit", "A schedule of {number} units", played.time)
    return render(
        "course/schedule.html",
        frame(request, drawing.title, says, "exercises", address),
        Hyperlink(exercise_url(exercise.id), exercise.title),
        svg=drawn_on(BOTH, drawing),
        heading=translate("What schedules for “{exercise}” cost", exercise=exercise.title),
        measures=measures_table(exercise.machine, (this, target, *published)),
        misses=misses,
        svg_href=address.replace("?", ".svg?", 1),
    )


@router.get("/{topic}/{slug}/schedule.svg")
def download_schedule(site: Here, topic: str, slug: str, of: str = "") -> Response:
    """The picture of the schedule in the address, as a file."""
    exercise = schedule_exercise(site.catalog, f"{topic}/{slug}")
    drawing = schedule_drawing(exercise, shared_schedule(exercise, of))
    headers = {"Content-Disposition": f'attachment; filename="{slug}.svg"'}
    return Response(to_svg(drawing, alone=True), media_type="image/svg+xml", headers=headers)
