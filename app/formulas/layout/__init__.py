"""A whole layout: whether it fits, and the time of its step, part by part.

The record itself, Layout, is among the presets, with the layouts of published runs.
"""

from app.formulas.layout.fit import *
from app.formulas.layout.fsdp_with_tp import *
from app.formulas.layout.step_time import *
from app.formulas.presets import Layout as Layout
from app.formulas.step.step import StepTime as StepTime
