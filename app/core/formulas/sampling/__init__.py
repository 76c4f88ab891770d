"""Answers drawn more than once, what a model costs over its whole life, and steps of RL."""

from app.core.formulas.sampling.policy import *
