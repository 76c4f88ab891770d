"""How fast a machine could compute, how fast it does, and what holds it up.

Peaks are dense and in the format that is computed in; twice as much is printed for sparsity, which
training does not use.
"""

from app.formulas.throughput.attention import *
from app.formulas.throughput.matmul import *
from app.formulas.throughput.roofline import *
from app.formulas.throughput.utilization import *
