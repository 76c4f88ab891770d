"""The cost of failures, and the best checkpoint interval.

*mtbf* is the mean time between failures of the whole run; an *interval* is the computing time
between two checkpoints, without the time to write one.
"""

from app.formulas.faults.checkpoints import checkpoint_bytes, write_time
from app.formulas.faults.failures import cluster_mtbf, cost_per_failure, expected_failures
from app.formulas.faults.intervals import daly_interval, exact_interval, young_interval
from app.formulas.faults.waste import expected_waste, goodput

__all__ = [
    "checkpoint_bytes",
    "cluster_mtbf",
    "cost_per_failure",
    "daly_interval",
    "exact_interval",
    "expected_failures",
    "expected_waste",
    "goodput",
    "write_time",
    "young_interval",
]
