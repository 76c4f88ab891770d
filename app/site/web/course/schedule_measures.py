"""What schedules cost, beside each other: time, bubble, memory and sends."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from app.core.charts.panels import PanelRow, Panels, panels_drawing
from app.core.charts.timeline import SCHEDULE_NAMES
from app.core.errors import capitalized
from app.core.simulators.programs import COMPUTE, PlayedSchedule, known_schedules
from app.core.translation import translate, translate_known
from app.core.units import scale_of, show_in
from app.course.kinds.code.machine import TargetMachine
from app.course.kinds.code.schedule import Schedule
from app.course.kinds.memo import Remembered
from app.site.web.explore.figures import TabledDrawing, tabled_drawing


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleMeasures:
    """Units of time and memory, and sends; None: not known."""

    time: float
    memory: float | None
    sends: float | None = None


@dataclass(frozen=True, slots=True)
class NamedMeasures:
    """The measures of a schedule under its name; the reader's *own* are marked."""

    name: str
    measures: ScheduleMeasures
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class _MeasureAxis:
    """How one measure is called, read and written."""

    label: str
    value: Callable[[ScheduleMeasures], float | None]
    text: Callable[[float], str]

    def said(self, measures: ScheduleMeasures) -> str:
        """The measure as text."""
        value = self.value(measures)
        return "–" if value is None else self.text(value)


def measures_of(played: PlayedSchedule) -> ScheduleMeasures:
    """What *played* costs."""
    return ScheduleMeasures(time=played.time, memory=max(played.peaks), sends=played.sends)


_known: Remembered[tuple[str, str], Mapping[str, ScheduleMeasures]] = Remembered()


def known_measures(exercise: Schedule) -> Sequence[NamedMeasures]:
    """The published schedules on the machine of *exercise*, if it is a pipeline."""
    machine = exercise.machine
    if machine.holds != "stages":
        return ()
    found = _known.of(
        (exercise.id, exercise.digest),
        lambda: {
            name: measures_of(played) for name, played in known_schedules(machine.built(None), machine.batches).items()
        },
    )
    return [
        NamedMeasures(capitalized(translate_known(SCHEDULE_NAMES[name])), measures) for name, measures in found.items()
    ]


def target_measures(exercise: Schedule) -> NamedMeasures:
    """What a schedule of *exercise* must reach, which its page says."""
    targets = exercise.targets
    measures = ScheduleMeasures(time=targets.time, memory=targets.memory)
    return NamedMeasures(translate("Target"), measures)


def comparison_view(exercise: Schedule, rows: Sequence[NamedMeasures]) -> TabledDrawing:
    """The *rows* beside each other, on each axis of the machine of *exercise*."""
    axes = _axes(exercise.machine)
    drawing = panels_drawing(
        Panels(
            title=translate("What schedules for “{exercise}” cost", exercise=exercise.title),
            summary=translate("Less is better on every axis."),
            what=translate("Schedule"),
            labels=tuple(axis.label for axis in axes),
            rows=tuple(_panel_row(row, axes) for row in rows),
        )
    )
    return tabled_drawing(drawing)


def _panel_row(row: NamedMeasures, axes: Sequence[_MeasureAxis]) -> PanelRow:
    values = tuple(axis.value(row.measures) for axis in axes)
    texts = tuple(axis.said(row.measures) for axis in axes)
    return PanelRow(row.name, values, texts, row.is_own)


def _axes(machine: TargetMachine) -> Sequence[_MeasureAxis]:
    """The axes on which schedules of *machine* differ."""
    axes = [_MeasureAxis(translate("Time, in units"), lambda one: one.time, _whole)]
    if machine.work:
        label = translate("Bubble: share of time without new work")
        axes.append(_MeasureAxis(label, lambda one: _bubble(machine, one.time), _percent))
    if machine.size:
        label = translate("Memory of the fullest rank, in units")
        axes.append(_MeasureAxis(label, lambda one: one.memory, _whole))
    if set(machine.cost) - COMPUTE:
        label = translate("Sends of all ranks")
        axes.append(_MeasureAxis(label, lambda one: one.sends, _whole))
    return axes


def _bubble(machine: TargetMachine, time: float) -> float:
    """The share of the time of all ranks that no needed pass fills; repeated passes are not."""
    return max(0.0, 1 - machine.work / (machine.ranks * time)) if time else 0.0


def _whole(value: float) -> str:
    return f"{value:g}"


def _percent(share: float) -> str:
    return show_in(share, scale_of("%"), 3)
