"""Memory of training on a rank, and the traffic of sharding it.

*parameters* counts elements; the sizes of a weight, of its gradient and of its optimizer state
are bytes per parameter, 2 + 2 + 12 = 16 for mixed precision with Adam.
"""

from app.formulas.memory.activations import *
from app.formulas.memory.budget import *
from app.formulas.memory.fit import *
from app.formulas.memory.placement import *
from app.formulas.memory.split import *
from app.formulas.memory.states import *
from app.formulas.memory.traffic import *
from app.formulas.memory.transients import *
