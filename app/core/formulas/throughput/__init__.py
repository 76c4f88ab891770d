"""Training time, utilization, and the roofline.

Peaks are dense and in the format of the computation; datasheets print twice as much for sparsity,
which training does not use.
"""

from app.core.formulas.throughput.attention import *
from app.core.formulas.throughput.limits import *
from app.core.formulas.throughput.matmul import *
from app.core.formulas.throughput.roofline import *
from app.core.formulas.throughput.utilization import *
