"""Things to play with: controls, figures and numbers, all from the formulas and simulators."""

from types import MappingProxyType

from app.explorers.base import Explored, Explorer, Explorers, Fact, Figure, Values
from app.explorers.checkpoints import CHECKPOINTS
from app.explorers.collectives import RACE
from app.explorers.controls import (
    Control,
    Select,
    Slider,
    Value,
    address_text,
    read_controls,
    slider_place,
)
from app.explorers.hardware import GPUS_SHOWN, HIERARCHY, ROOFLINE
from app.explorers.layouts import CONFIGURATOR
from app.explorers.memory import HYBRID, STATE
from app.explorers.overlap import OVERLAP
from app.explorers.pipelines import SCHEDULES_SHOWN
from app.explorers.precision import FORMATS_SHOWN, LOSS_SCALE
from app.explorers.runs import RATES, RUN

EXPLORERS: Explorers = MappingProxyType(
    {
        one.name: one
        for one in (
            RACE, STATE, RATES, OVERLAP, SCHEDULES_SHOWN, CHECKPOINTS, FORMATS_SHOWN, LOSS_SCALE,
            RUN, ROOFLINE, HIERARCHY, GPUS_SHOWN, HYBRID, CONFIGURATOR,
        )
    }
)  # fmt: skip

__all__ = [
    "EXPLORERS", "Control", "Explored", "Explorer", "Fact", "Figure", "Select", "Slider", "Value",
    "Values", "address_text", "read_controls", "slider_place",
]  # fmt: skip
