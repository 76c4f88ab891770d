"""How often to save."""

from app.charts.axes import Axis, percent_text
from app.charts.plot import LabeledPoint, Plot, Series
from app.explorers.base import Explored, Explorer, Values, quantity, share
from app.explorers.controls import Slider
from app.formulas.faults import daly_interval, expected_waste, young_interval
from app.simulators.faults import run_until
from app.units import RATIO, SECOND, show

_INTERVALS = 2000  # that are simulated
_HOPELESS = 2.0  # times the time between failures: few attempts at an interval would succeed
_PLACES = (1 / 4, 1 / 2, 1, 2, 4)  # of Young's interval, at which it is simulated


def _checkpoints(values: Values) -> Explored:
    cost, mtbf, restart = (values.number(name) for name in ("checkpoint", "mtbf", "restart"))
    interval = values.number("interval")
    young, daly = young_interval(cost, mtbf), daly_interval(cost, mtbf)
    taken = [young * 8 ** (place / 12 - 1) for place in range(25)]
    wastes = tuple((t, expected_waste(t, cost, mtbf, restart)) for t in taken)
    simulated = tuple(
        (young * place, _simulated(young * place, cost, mtbf, restart))
        for place in _PLACES
        if young * place + cost + restart < _HOPELESS * mtbf
    )
    series = [Series("f", "first order", wastes)]
    series += [Series("b", "simulated", simulated)] if simulated else []
    own = expected_waste(interval, cost, mtbf, restart)
    best = expected_waste(young, cost, mtbf, restart)
    says = (
        f"Saving every {show(interval, SECOND)} wastes **{percent_text(own)}** of the time: "
        f"{percent_text(cost / interval)} writing and {percent_text(interval / 2 / mtbf)} "
        "repeating. "
        f"Young's interval, {show(young, SECOND)}, wastes {percent_text(best)}; Daly's is "
        f"{show(daly, SECOND)}."
    )
    facts = (
        quantity("Young's interval", young, SECOND),
        quantity("Daly's interval", daly, SECOND),
        share("waste at Young's", best),
        share("waste at yours", own),
    )
    marks = (
        LabeledPoint(young, best, f"Young: {percent_text(best)}"),
        LabeledPoint(min(max(interval, taken[0]), taken[-1]), own, f"yours: {percent_text(own)}"),
    )
    plot = Plot(
        "Time wasted",
        says.replace("*", ""),
        Axis("interval between checkpoints", SECOND, log=True),
        Axis("share of the time", RATIO, percent=True),
        tuple(series),
        marks,
    )
    return Explored(says, facts, (plot,))


def _simulated(interval: float, cost: float, mtbf: float, restart: float) -> float:
    """The share of the time that a run of many intervals wasted."""
    run = run_until(1, _INTERVALS, interval, cost, mtbf, restart)
    return 1 - run.kept / run.clock


CHECKPOINTS = Explorer(
    "checkpoints",
    "How often should a run save?",
    "The waste over the interval: writing against repeating, Young, Daly and a simulation.",
    "A machine fails every 24 hours and a checkpoint takes 98 s. What is the best interval?",
    "Young's interval",
    "checkpoints",
    ("faults.young_interval", "faults.daly_interval", "faults.expected_waste"),
    (
        Slider("mtbf", "Time between failures", 0.5, 500, 24, "h", log=True, whole=False),
        Slider("checkpoint", "Time of a checkpoint", 1, 3600, 98, "s", log=True, whole=False),
        Slider("restart", "Time of a restart", 0, 3600, 0, "s", aside=True),
        Slider("interval", "Interval", 1, 1440, 60, "min", log=True, whole=False, aside=True),
    ),
    _checkpoints,
    "What is the best interval between checkpoints, by Young's formula?",
)
