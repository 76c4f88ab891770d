"""DeepSpeed's own lines, which stand beside those of the program that uses it."""

import re

from app.core.measurements.logs.families.base import LogFamily

_FAULT = (
    "DeepSpeed's samples per second are known to be wrong where its timer leaves a part of the step"
    " out, such as the optimizer"
)
PIPELINE_ENGINE = LogFamily(
    name="deepspeed",
    title="DeepSpeed",
    step=re.compile(r"\bsteps: {0,30}(?P<step>\d{1,15}) {1,30}loss:"),
    companion=True,
    rank=6,
    rate_fault=_FAULT,
    settings_of=("megatron",),
    sample="""\
steps: 1 loss: 12.7902 iter time (s): 150.471 samples/sec: 6.805
steps: 2 loss: 12.8004 iter time (s): 145.206 samples/sec: 7.052
""",
    source="bigscience-workshop/bigscience, logs of 2021",
)
ENGINE = LogFamily(
    name="deepspeed",
    title="DeepSpeed",
    step=re.compile(
        r"\bglobal_step=(?P<step>\d{1,15}), *RunningAvgSamplesPerSec"
        r"|\bstop\] {1,30}(?:\d{1,15}/)?(?P<step1>\d{1,15}), *(?:RunningAvg)?SamplesPerSec"
    ),
    companion=True,
    rank=7,
    rate_fault=_FAULT,
    settings_of=("megatron",),
    sample="""\
[2023-07-25 21:03:17,269] [INFO] [timer.py:215:stop] epoch=0/micro_step=34/global_step=34, \
RunningAvgSamplesPerSec=7.864, CurrSamplesPerSec=8.009, MemAllocated=59.65GB
[2023-07-25 21:03:21,372] [INFO] [timer.py:215:stop] epoch=0/micro_step=35/global_step=35, \
RunningAvgSamplesPerSec=7.868, CurrSamplesPerSec=8.011, MemAllocated=59.65GB
""",
    source="deepspeedai/DeepSpeed, issue 3742; the second line is made",
)
RATES_OF_LEARNING = LogFamily(
    name="deepspeed",
    title="DeepSpeed",
    step=re.compile(r"\bstep=(?P<step>\d{1,15}), skipped="),
    companion=True,
    rank=8,
    settings_of=("megatron",),
    sample="""\
[2025-11-10 09:43:39,573] [INFO] [logging.py:107:log_dist] [Rank 0] step=5, skipped=0, lr=[2e-05]
[2025-11-10 09:43:42,973] [INFO] [logging.py:107:log_dist] [Rank 0] step=6, skipped=0, lr=[2e-05]
""",
    source="made, after argonne-lcf/Megatron-DeepSpeed, ALCF/notes",
)
