"""Number formats: what they can hold, what rounding loses, and what training in few bits keeps.

Spacing is relative: a format has as many steps between 1 and 2 as between 1024 and 2048.
"""

from app.formulas.precision.formats import *
from app.formulas.precision.limits import *
from app.formulas.precision.rounding import *
from app.formulas.precision.scaling import *
from app.formulas.precision.storage import *
