"""The cost of failures, and the best checkpoint interval.

*mtbf* is the mean time between failures of the whole run; an *interval* is the computing time
between two checkpoints, without the time to write one.
"""

from app.formulas.faults.chances import *
from app.formulas.faults.checkpoints import *
from app.formulas.faults.failures import *
from app.formulas.faults.intervals import *
from app.formulas.faults.silent import *
from app.formulas.faults.waste import *
