"""Number formats: their range, rounding, scales and sums, and the memory that fewer bits save.

Spacing is relative: a format has as many steps between 1 and 2 as between 1024 and 2048.
"""

from app.core.formulas.precision.formats import *
from app.core.formulas.precision.scaling import *
