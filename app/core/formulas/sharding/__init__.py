"""Splitting one layer over ranks: shapes, traffic and loads.

Tensor parallelism splits matrices, context parallelism the sequence, expert parallelism the
experts. *size* is the whole activation of one micro-batch.
"""

from app.core.formulas.sharding.experts import *
from app.core.formulas.sharding.plans import *
from app.core.formulas.sharding.tensor import *
