"""A point of a plot that stands for a control."""

from collections.abc import Iterator

from app.core.charts.plot import Plot
from app.course.explorers import EXPLORERS
from app.course.explorers.base import Explorer, Values
from app.course.explorers.controls import Slider, read_controls
from tests.each import each


def dragged(explorer: Explorer) -> Iterator[tuple[Slider, Plot]]:
    """The figure at both ends of each control that a point of it stands for."""
    for control in explorer.controls:
        for end in control.ends if isinstance(control, Slider) else ():
            state = {control.name: f"{end:.9f}"}
            values, _ = read_controls(explorer.controls, state)
            for one in explorer.explore(Values(values)).figures:
                if isinstance(one, Plot) and isinstance(control, Slider):
                    yield control, one


@each("name", ["all-reduce", "bandwidth", "checkpoints", "formats", "learning-rate", "run", "roofline"])
def test_a_point_that_is_dragged_to_the_end_is_still_on_its_curve(name: str) -> None:
    looked = 0
    for control, plot in dragged(EXPLORERS[name]):
        reach = [x for series in plot.series for x, _ in series.points]
        for point in plot.marks:
            if point.grip and point.grip.control == control.name:
                assert min(reach) * 0.999 <= point.x <= max(reach) * 1.001, (control.name, point)
                looked += 1
    assert looked >= 2
