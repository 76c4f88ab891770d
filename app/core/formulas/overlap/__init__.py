"""Communication beside computation: what hides, and what shows."""

from app.core.formulas.overlap.hidden_communication import *
