"""A whole layout: whether it fits, and the time of its step, part by part.

The record itself, Layout, is among the presets, with the layouts of published runs.
"""

from app.formulas.layout.fitting import fits
from app.formulas.layout.timing import StepTime, projected_utilization, step_time, total_step_time
from app.formulas.presets import Layout

__all__ = [
    "Layout",
    "StepTime",
    "fits",
    "projected_utilization",
    "step_time",
    "total_step_time",
]
