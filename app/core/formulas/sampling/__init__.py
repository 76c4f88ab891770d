"""Answers drawn more than once, what a model costs over its whole life, and steps of RL."""

from app.core.formulas.sampling.lifetime import *
from app.core.formulas.sampling.pass_at_k import *
from app.core.formulas.sampling.policy import *
