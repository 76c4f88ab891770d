"""Answers drawn more than once, what a model costs over its whole life, and steps of RL."""

from app.formulas.sampling.lifetime import *
from app.formulas.sampling.pass_at_k import *
from app.formulas.sampling.policy import *
