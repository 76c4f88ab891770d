"""Communication beside computation: what hides, and what shows."""

from app.formulas.overlap.hiding import (
    communication_compute_ratio,
    exposed_communication_time,
    exposed_gather_time,
    overlapped_fraction,
    tokens_to_hide,
)
from app.formulas.overlap.scaling import (
    amdahl_speedup,
    scaling_efficiency,
    utilization_with_exposed,
)

__all__ = [
    "amdahl_speedup",
    "communication_compute_ratio",
    "exposed_communication_time",
    "exposed_gather_time",
    "overlapped_fraction",
    "scaling_efficiency",
    "tokens_to_hide",
    "utilization_with_exposed",
]
