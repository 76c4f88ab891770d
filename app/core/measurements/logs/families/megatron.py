"""Megatron-LM and those who print as it does: Megatron-Bridge, Megatron-DeepSpeed, Primus."""

import re

from app.core.measurements.logs.families.base import LogFamily

MEGATRON = LogFamily(
    name="megatron",
    title="Megatron-LM",
    step=re.compile(r"\biteration\s{0,30}[:=]?\s{0,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}(?P<total>\d{1,15}|infinity)"),
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
  world_size ...................................... 16
  seq_length ...................................... 2048
 [2024-04-06 02:59:36] iteration       43/     100 | consumed samples:         5504 | elapsed time \
per iteration (ms): 5444.9 | throughput per GPU (TFLOP/s/GPU): 239.8 | global batch size:   128 |
 [2024-04-06 02:59:41] iteration       44/     100 | consumed samples:         5632 | elapsed time \
per iteration (ms): 5533.8 | throughput per GPU (TFLOP/s/GPU): 236.0 | global batch size:   128 |
 [2024-04-06 02:59:47] iteration       45/     100 | consumed samples:         5760 | elapsed time \
per iteration (ms): 5718.6 | throughput per GPU (TFLOP/s/GPU): 228.4 | global batch size:   128 |
""",
    source="NVIDIA/Megatron-LM, issue 756; the arguments are made",
)
PRIMUS = LogFamily(
    name="primus",
    title="Primus",
    stack="megatron",
    step=re.compile(
        r"^(?=.*rocm mem).*?\biteration\s{1,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}"
        r"(?P<total>\d{1,15})"
    ),
    rank=4,
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
[2026-07-02 10:00:00] iteration        8/      50 | consumed samples:          512 | elapsed time \
per iteration (ms): 4012.2/4050.1 | rocm mem usage: 150.1GB | Compute per GPU (TFLOP/s/GPU): \
501.2/498.8 | tokens per GPU (tokens/s/GPU): 10208.9/10111.0 | global batch size:    64 |
[2026-07-02 10:00:04] iteration        9/      50 | consumed samples:          576 | elapsed time \
per iteration (ms): 4015.0/4046.2 | rocm mem usage: 150.1GB | Compute per GPU (TFLOP/s/GPU): \
500.9/499.0 | tokens per GPU (tokens/s/GPU): 10201.7/10120.9 | global batch size:    64 |
""",
    source="made, after AMD-AGI/Primus, pull request 842",
)
ALCF = LogFamily(
    name="megatron-deepspeed",
    title="Megatron-DeepSpeed",
    stack="megatron",
    step=re.compile(r"\biteration=\s{0,30}(?P<step>\d{1,15})\s{0,30}/\s{0,30}(?P<total>\d{1,15})"),
    rank=4,
    settings_of=("megatron",),
    printed_once=True,
    sample="""\
[2025-11-10 09:43:39,573] [INFO] [logging.py:107:log_dist] [Rank 0] step=136005, skipped=0
[2025-11-10 09:43:39,573] [INFO] [timer.py:264:stop] epoch=0/micro_step=5/global_step=5, \
RunningAvgSamplesPerSec=2443.95, CurrSamplesPerSec=2553.44, MemAllocated=3.71GB
[2025-11-10 09:43:39,582716][I][megatron/training_log:402:training_log]  iteration=  136005/  \
136100 | elapsed_time_per_iteration_ms=3420.2 | global_batch_size= 6144 | actual_seqlen= 8192 | \
samples_per_second=1796.410 | tokens_per_gpu_per_second_tgs=4790.426 | TFLOPs=53.59 |
[2025-11-10 09:43:42,986] [INFO] [logging.py:107:log_dist] [Rank 0] step=136006, skipped=0
[2025-11-10 09:43:42,987] [INFO] [timer.py:264:stop] epoch=0/micro_step=6/global_step=6, \
RunningAvgSamplesPerSec=2472.27, CurrSamplesPerSec=2561.32, MemAllocated=3.71GB
[2025-11-10 09:43:42,996173][I][megatron/training_log:402:training_log]  iteration=  136006/  \
136100 | elapsed_time_per_iteration_ms=3412.2 | global_batch_size= 6144 | actual_seqlen= 8192 | \
samples_per_second=1800.621 | tokens_per_gpu_per_second_tgs=4801.655 | TFLOPs=53.72 |
""",
    source="made, after argonne-lcf/Megatron-DeepSpeed, ALCF/notes",
)
