"""Training time, utilization, and the roofline.

Peaks are dense and in the format of the computation; datasheets print twice as much for sparsity,
which training does not use.
"""

from app.formulas.throughput.attention import *
from app.formulas.throughput.limits import *
from app.formulas.throughput.matmul import *
from app.formulas.throughput.roofline import *
from app.formulas.throughput.utilization import *
