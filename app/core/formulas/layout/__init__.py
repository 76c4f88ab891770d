"""A whole layout: whether it fits, and the time of its step, part by part.

The record itself, Layout, is among the presets, with the layouts of published runs.
"""

from app.core.formulas.layout.step_time import *
from app.core.formulas.presets import Layout as Layout
from app.core.formulas.step.step import StepTime as StepTime
