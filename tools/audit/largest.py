"""The state of an explorer that draws most, which is the slowest to show."""

from app.core.charts.svg import to_svg
from app.course.explorers.base import Explorer, Values
from app.course.explorers.controls import Select, read_controls
from app.site.web.explore.state import url_state
from app.site.web.urls import explorer_url


def largest_address(explorer: Explorer) -> str:
    """The address of the state with most to draw: each control in turn at the end that draws more."""
    values = Values(read_controls(explorer.controls, {})[0])
    most = _drawn(explorer, values)
    for control in explorer.controls:
        ends = (
            tuple(control.options)
            if isinstance(control, Select)
            else tuple(end * control.scale.factor for end in control.ends)
        )
        for end in ends:
            tried = Values({**values, control.name: end})
            if (size := _drawn(explorer, tried)) > most:
                most, values = size, tried
    return explorer_url(explorer.name, url_state(explorer, values))


def _drawn(explorer: Explorer, values: Values) -> int:
    """How many bytes are drawn; none if the values are not compatible."""
    try:
        figures = explorer.explore(values).figures
    except ValueError:
        return 0
    return sum(len(to_svg(figure, alone=False)) for figure in figures)
