"""Communication beside computation: what hides, and what shows."""

from app.formulas.overlap.hiding import *
from app.formulas.overlap.scaling import *
