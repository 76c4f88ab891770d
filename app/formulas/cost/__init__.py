"""What a run costs: GPU-hours, dollars and energy."""

from app.formulas.cost.money import *
from app.formulas.cost.power import *
