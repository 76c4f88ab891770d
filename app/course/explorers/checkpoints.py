"""The checkpoint interval: how often to save."""

from app.core.charts.axes import Axis, Color, percent_text
from app.core.charts.plot import Grip, LabeledPoint, Plot, Series
from app.core.formulas.faults import daly_interval, expected_waste, young_interval
from app.core.simulators.faults import run_until
from app.core.translation import noted, translate
from app.core.units import RATIO, SECOND, show
from app.course.explorers.base import ExplainedMistakes, Explorer, ExplorerOutput, KeyFigure, Values
from app.course.explorers.controls import Slider, log_slider
from app.course.explorers.words import figure_summary

_INTERVALS = 2000  # in a simulated run
_HOPELESS = 2.0  # times the time between failures: longer intervals would almost never succeed
_AROUND, _POINTS = 8, 24  # a curve goes from 1/8 of Young's interval to 8 times it, and to yours
_PLACES = (1 / 4, 1 / 2, 1, 2, 4)  # simulated intervals, in Young's intervals


def _checkpoints(values: Values) -> ExplorerOutput:
    cost, mtbf, restart = (values.number(name) for name in ("checkpoint", "mtbf", "restart"))
    interval = values.number("interval")
    young, daly = young_interval(cost, mtbf), daly_interval(cost, mtbf)
    first, last = min(young / _AROUND, interval), max(young * _AROUND, interval)
    taken = [first * (last / first) ** (place / _POINTS) for place in range(_POINTS + 1)]
    wastes = tuple((t, min(1.0, expected_waste(t, cost, mtbf, restart))) for t in taken)
    near = [t for t in (young * place for place in _PLACES) if t + cost + restart < _HOPELESS * mtbf]
    runs = [(t, run_until(1, _INTERVALS, t, cost, mtbf, restart)) for t in near]
    simulated = tuple((t, 1 - run.kept / run.clock) for t, run in runs)
    series = [Series(Color.BLUE, translate("first order"), wastes)]
    series += [Series(Color.ORANGE, translate("simulated"), simulated)] if simulated else []
    own = expected_waste(interval, cost, mtbf, restart)
    best = expected_waste(young, cost, mtbf, restart)
    if own <= 1:
        says = translate(
            "Saving every {interval} wastes **{own}** of the time: {cost} for writing "
            "checkpoints and {interval_2} for repeating lost work. Young's interval, "
            "{young}, wastes {best}; Daly's is {daly}.",
            interval=show(interval, SECOND),
            own=percent_text(own),
            cost=percent_text(cost / interval),
            interval_2=percent_text(interval / 2 / mtbf),
            young=show(young, SECOND),
            best=percent_text(best),
            daly=show(daly, SECOND),
        )
    else:
        says = translate(
            "Saving every {interval} would take **more than all** of the time: {cost} of writing for each interval, "
            "and {lost} of repeated work and restart for each failure, every {mtbf}. Far from Young's interval, "
            "{young}, this formula no longer holds; Daly's is {daly}.",
            interval=show(interval, SECOND),
            cost=show(cost, SECOND),
            lost=show(interval / 2 + restart, SECOND),
            mtbf=show(mtbf, SECOND),
            young=show(young, SECOND),
            daly=show(daly, SECOND),
        )
    facts = (
        KeyFigure.quantity(noted("Young's interval"), young, SECOND),
        KeyFigure.quantity(noted("Daly's interval"), daly, SECOND),
        KeyFigure(noted("waste at Young's interval"), _wasted(best), best),
        KeyFigure(noted("waste at your interval"), _wasted(own), own),
    )
    marks = (
        LabeledPoint(young, min(1.0, best), translate("Young: {share}", share=_wasted(best))),
        LabeledPoint(interval, min(1.0, own), translate("yours: {share}", share=_wasted(own)), Grip("interval")),
    )
    plot = Plot(
        title=translate("Time wasted"),
        summary=figure_summary(says),
        x=Axis(translate("interval between checkpoints"), SECOND, log=True),
        y=Axis(translate("share of the time"), RATIO, percent=True),
        series=tuple(series),
        marks=marks,
    )
    return ExplorerOutput(says, facts, (plot,))


def _wasted(share: float) -> str:
    """A *share* of the time by the first-order formula, which has more than all of it far from the optimum."""
    return percent_text(share) if share <= 1 else translate("more than all")


CHECKPOINTS = Explorer(
    name="checkpoints",
    title=noted("How often should a run save?"),
    summary=noted("Wasted time over the interval, first order and simulated, with Young's and Daly's."),
    question=noted("A machine fails every 24 hours; a checkpoint takes 98 s. What is the best interval?"),
    predicts=noted("Young's interval"),
    chapter="checkpoints",
    formulas=("faults.young_interval", "faults.daly_interval", "faults.expected_waste"),
    controls=(
        log_slider("interval", noted("Interval"), (1, 1440), 60, "min", aside=True),
        log_slider("checkpoint", noted("Time of a checkpoint"), (1, 3600), 98, "s"),
        log_slider("mtbf", noted("Time between failures"), (0.5, 500), 24, "h"),
        Slider("restart", noted("Time of a restart"), (0, 3600), default=0, unit="s", aside=True),
    ),
    explore=_checkpoints,
    asks=noted("What is the best interval between checkpoints, by Young's formula?"),
    foreseen=ExplainedMistakes(exercise="checkpoints/young-interval", answer="interval"),
)
