"""Number formats: their range, rounding, loss scaling, and the memory that fewer bits save.

Spacing is relative: a format has as many steps between 1 and 2 as between 1024 and 2048.
"""

from app.formulas.precision.formats import FORMATS, NumberFormat
from app.formulas.precision.limits import (
    epsilon,
    largest_finite,
    smallest_normal,
    smallest_subnormal,
    spacing,
)
from app.formulas.precision.rounding import round_to, update_survives
from app.formulas.precision.scaling import loss_scale, smallest_loss_scale
from app.formulas.precision.storage import (
    activation_saving,
    full_precision_bytes,
    mixed_precision_bytes,
)

__all__ = [
    "FORMATS",
    "NumberFormat",
    "activation_saving",
    "epsilon",
    "full_precision_bytes",
    "largest_finite",
    "loss_scale",
    "mixed_precision_bytes",
    "round_to",
    "smallest_loss_scale",
    "smallest_normal",
    "smallest_subnormal",
    "spacing",
    "update_survives",
]
