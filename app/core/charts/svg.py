"""Any figure as SVG, and as a table."""

from functools import cache

from app.core.charts.axes import WIDE, Drawing, Paper
from app.core.charts.bars import Bars, bars_picture
from app.core.charts.motion import Motion, motion_picture
from app.core.charts.plot import Plot, plot_picture
from app.core.charts.scatter import Scatter, scatter_picture
from app.core.charts.timeline import Timeline, timeline_picture
from app.core.templating import template_environment

Figure = Bars | Plot | Scatter | Timeline | Drawing | Motion


def to_svg(figure: Figure, *, alone: bool, paper: Paper = WIDE) -> str:
    """*figure* as SVG: a standalone file if *alone*, or part of a page that has the style sheet."""
    match figure:
        case Bars():
            return _filled("bars", picture=bars_picture(figure, paper), alone=alone)
        case Plot():
            return _filled("plot", picture=plot_picture(figure, paper), alone=alone)
        case Scatter():
            return _filled("scatter", picture=scatter_picture(figure, paper), alone=alone)
        case Timeline():
            name = "timeline" if alone else "schedule"
            return _filled(name, picture=timeline_picture(figure, paper))
        case Drawing():
            sheet = figure.on(paper)
            return _filled("drawing", drawing=figure, sheet=sheet, paper=paper, alone=alone)
        case Motion():
            still = motion_picture(figure, paper)
            return _filled("motion", drawing=figure, sheet=still.scene.sheet, picture=still, paper=paper, alone=alone)


def _filled(name: str, **given: object) -> str:
    return figure_templates().get_template(f"figures/{name}.svg").render(**given)


figure_templates = cache(template_environment)
