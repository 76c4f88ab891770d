"""Things to play with: controls, figures and numbers, all from the formulas and simulators."""

from types import MappingProxyType

from app.charts.svg import Figure
from app.explorers.base import Explored, Explorer, Explorers, Fact, Values
from app.explorers.checkpoints import CHECKPOINTS
from app.explorers.collectives import RACE
from app.explorers.controls import (
    Control,
    ControlValue,
    Select,
    Slider,
    address_text,
    read_controls,
    shown_text,
    slider_place,
)
from app.explorers.diagnosing import COMB, TOLLS
from app.explorers.guessing import Guess, judged, predicted, question, untold
from app.explorers.hardware import GPUS_SHOWN, HIERARCHY, ROOFLINE
from app.explorers.layouts import CONFIGURATOR
from app.explorers.memory import HYBRID, STATE
from app.explorers.opening import Opened, opened
from app.explorers.overlap import OVERLAP
from app.explorers.pipelines import SCHEDULES_SHOWN
from app.explorers.precision import FORMATS_SHOWN, LOSS_SCALE
from app.explorers.ring import RING
from app.explorers.routing import ROUTING
from app.explorers.runs import RATES, RUN
from app.explorers.splitting import SPLITTER

EXPLORERS: Explorers = MappingProxyType(
    {
        one.name: one
        for one in (
            RING, RACE, STATE, RATES, OVERLAP, SCHEDULES_SHOWN, SPLITTER, CHECKPOINTS,
            FORMATS_SHOWN, LOSS_SCALE, RUN, ROOFLINE, HIERARCHY, GPUS_SHOWN, HYBRID, CONFIGURATOR,
            ROUTING, COMB, TOLLS,
        )
    }
)  # fmt: skip

__all__ = [
    "EXPLORERS", "Control", "Explored", "Explorer", "Fact", "Figure", "Guess", "Opened", "Select",
    "Slider", "ControlValue", "Values", "address_text", "judged", "opened", "predicted", "question",
    "read_controls", "shown_text", "slider_place", "untold",
]  # fmt: skip
