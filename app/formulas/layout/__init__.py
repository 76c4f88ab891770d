"""A whole layout: whether it fits, and how long its step takes, part by part.

The record itself, Layout, is among the presets: what papers ran has a name there.
"""

from app.formulas.layout.fitting import fits
from app.formulas.layout.timing import projected_utilization, step_time, total_step_time

__all__ = ["fits", "projected_utilization", "step_time", "total_step_time"]
