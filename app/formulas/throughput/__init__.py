"""Training time, utilization, and the roofline.

Peaks are dense and in the format of the computation; datasheets print twice as much for sparsity,
which training does not use.
"""

from app.formulas.throughput.attention import (
    flash_attention_bytes,
    flash_attention_share,
    standard_attention_bytes,
)
from app.formulas.throughput.matmul import (
    elementwise_intensity,
    matmul_bytes,
    matmul_flops,
    matmul_intensity,
    smallest_square_matmul,
)
from app.formulas.throughput.roofline import attainable_flops, ridge_intensity, roofline_time
from app.formulas.throughput.utilization import (
    hardware_utilization,
    model_utilization,
    tokens_per_second,
    training_time,
    utilization_comb,
)

__all__ = [
    "attainable_flops",
    "elementwise_intensity",
    "flash_attention_bytes",
    "flash_attention_share",
    "hardware_utilization",
    "matmul_bytes",
    "matmul_flops",
    "matmul_intensity",
    "model_utilization",
    "ridge_intensity",
    "roofline_time",
    "smallest_square_matmul",
    "standard_attention_bytes",
    "tokens_per_second",
    "training_time",
    "utilization_comb",
]
