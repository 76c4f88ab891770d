"""A whole layout: whether it fits, and how long its step takes, part by part.

The record itself, Layout, is among the presets: what papers ran has a name there.
"""

from app.formulas.layout.fitting import *
from app.formulas.layout.timing import *
from app.formulas.presets import Layout as Layout
