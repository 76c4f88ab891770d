"""Communicating less: local steps, compressed gradients, and updates that come late."""

from app.core.formulas.synchronization.local_steps import *
