"""Optimizers: what they keep for each parameter, and what Muon computes and sends."""

from app.core.formulas.optimizers.orthogonal import *
