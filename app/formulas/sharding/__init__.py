"""Splitting one layer over ranks: shapes, traffic and loads.

Tensor parallelism splits matrices, context parallelism the sequence, expert parallelism the
experts. *size* is the whole activation of one micro-batch.
"""

from app.formulas.sharding.bounds import *
from app.formulas.sharding.context import *
from app.formulas.sharding.experts import *
from app.formulas.sharding.meshes import *
from app.formulas.sharding.plans import *
from app.formulas.sharding.rings import *
from app.formulas.sharding.routing import *
from app.formulas.sharding.shapes import *
from app.formulas.sharding.tensor import *
