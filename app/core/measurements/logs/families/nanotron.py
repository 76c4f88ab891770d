"""nanotron, which shortens its numbers: 11.4K tokens per second."""

import re

from app.core.measurements.logs.families.base import LogFamily

NANOTRON = LogFamily(
    name="nanotron",
    title="nanotron",
    step=re.compile(r"\biteration: (?P<step>\d{1,15}) / (?P<total>\d{1,15})(?= \| consumed_|$| *\|)"),
    rank=2,
    settings_of=("megatron",),
    sample="""\
10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: iteration: 327281 / 378950 | consumed_tokens: 85.8G | \
elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | \
global_batch_size: 64 | lm_loss: 2.38 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3
10/17/2025 16:32:07 [INFO|DP=0|PP=0|TP=0]: iteration: 327282 / 378950 | consumed_tokens: 85.8G | \
elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 11.4K | \
global_batch_size: 64 | lm_loss: 2.35 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3
""",
    source="huggingface/nanotron, issue 390, shortened",
)
