"""Communication beside computation: what hides, and what shows."""

from app.formulas.overlap.efficiency import *
from app.formulas.overlap.hidden_communication import *
