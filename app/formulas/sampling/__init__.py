"""Answers drawn more than once, and what a model costs over its whole life."""

from app.formulas.sampling.drawing import *
from app.formulas.sampling.lifetime import *
