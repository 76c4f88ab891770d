"""A whole layout: whether it fits, and the time of its step, part by part.

The record itself, Layout, is among the presets, with the layouts of published runs.
"""

from app.formulas.layout.fitting import *
from app.formulas.layout.mixing import *
from app.formulas.layout.timing import *
from app.formulas.presets import Layout as Layout
