"""What failures cost, and how often to write a checkpoint against them.

*mtbf* is the mean time between failures of everything that the run needs at once; an *interval* is
the computing time between two checkpoints, without the time of writing one.
"""

from app.formulas.faults.checkpoints import *
from app.formulas.faults.failures import *
from app.formulas.faults.intervals import *
from app.formulas.faults.waste import *
