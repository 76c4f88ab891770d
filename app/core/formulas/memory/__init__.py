"""Memory of training on a rank, and the traffic of sharding it.

*parameters* counts elements; the sizes of a weight, of its gradient and of its optimizer state
are bytes per parameter, 2 + 2 + 12 = 16 for mixed precision with Adam.
"""

from app.core.formulas.memory.activations import *
from app.core.formulas.memory.budget import *
from app.core.formulas.memory.states import *
