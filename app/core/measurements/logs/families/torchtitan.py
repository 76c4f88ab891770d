"""torchtitan."""

import re

from app.core.measurements.logs.families.base import LogFamily

TORCHTITAN = LogFamily(
    name="torchtitan",
    title="torchtitan",
    step=re.compile(r"\bstep:\s{0,30}(?P<step>\d{1,15})\s{1,30}(?:loss|grad_norm|memory|tps|wps):"),
    settings_of=("torchtitan",),
    sample="""\
[rank0]:[titan] 2025-06-16 22:30:16,100 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with \
94.99GiB memory
[rank0]:[titan] 2025-06-16 22:30:17,100 - root - INFO - Peak FLOPS used for computing MFU: 9.890e+14
[rank0]:[titan] 2025-06-16 22:31:18,934 - root - INFO - step: 220  loss:  6.0348  memory: \
49.66GiB(52.28%)  tps: 5,868  tflops: 339.82  mfu: 34.36%
[rank0]:[titan] 2025-06-16 22:31:32,895 - root - INFO - step: 230  loss:  5.9670  memory: \
49.66GiB(52.28%)  tps: 5,869  tflops: 339.88  mfu: 34.37%
[rank0]:[titan] 2025-06-16 22:31:46,869 - root - INFO - step: 240  loss:  5.8311  memory: \
49.66GiB(52.28%)  tps: 5,864  tflops: 339.59  mfu: 34.34%
""",
    source="pytorch/torchtitan, pull request 1287; the line of the peak is made",
    mfu_of="torchtitan divides by the peak of an A100, 312 TFLOP/s, for a GPU it does not know",
)
