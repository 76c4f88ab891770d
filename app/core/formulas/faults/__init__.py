"""The cost of failures, and the best checkpoint interval.

*mtbf* is the mean time between failures of the whole run; an *interval* is the computing time
between two checkpoints, without the time to write one.
"""

from app.core.formulas.faults.failures import *
