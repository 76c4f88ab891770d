"""Time and traffic of collective operations in the latency-bandwidth model.

*bandwidth* is what one rank can send in one direction while it receives as much in the other;
*size* is the whole array, as in the `size` column of nccl-tests.
"""

from app.core.formulas.collectives.ring import *
from app.core.formulas.collectives.tree import *
