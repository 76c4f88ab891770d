"""Optimizers: what they keep for each parameter, and what Muon computes and sends."""

from app.formulas.optimizers.orthogonal import *
from app.formulas.optimizers.states import *
