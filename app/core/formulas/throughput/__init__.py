"""Training time, utilization, and the roofline.

Peaks are dense and in the format of the computation; datasheets print twice as much for sparsity,
which training does not use.
"""

from app.core.formulas.throughput.roofline import *
