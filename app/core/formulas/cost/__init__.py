"""What a run costs: GPU-hours, dollars and energy."""

from app.core.formulas.cost.money import *
