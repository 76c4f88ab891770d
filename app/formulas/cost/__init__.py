"""What a run costs: GPU-hours, dollars and energy."""

from app.formulas.cost.money import gpu_hours, rental_cost, value_of_utilization
from app.formulas.cost.power import electricity_cost, energy

__all__ = ["electricity_cost", "energy", "gpu_hours", "rental_cost", "value_of_utilization"]
