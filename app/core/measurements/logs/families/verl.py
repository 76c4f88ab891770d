"""verl: one line for each step of reinforcement learning."""

import re

from app.core.measurements.logs.families.base import LogFamily

VERL = LogFamily(
    name="verl",
    title="verl",
    step=re.compile(r"\bstep:(?P<step>\d{1,15}) - (?=\w+/)"),
    mfu_scale=1.0,
    settings_of=("megatron",),
    sample="""\
(TaskRunner pid=247607) step:1 - global_seqlen/min:159906 - actor/entropy:0.0976 - perf/mfu/actor:\
0.321 - timing_s/gen:30.1 - timing_s/step:49.091 - perf/total_num_tokens:1279248 - \
perf/time_per_step:49.091 - perf/throughput:3257.33
(TaskRunner pid=247607) step:2 - global_seqlen/min:161010 - actor/entropy:0.0961 - perf/mfu/actor:\
0.324 - timing_s/gen:29.7 - timing_s/step:48.700 - perf/total_num_tokens:1288080 - \
perf/time_per_step:48.700 - perf/throughput:3306.16
""",
    source="made, after volcengine/verl, verl/utils/logger/aggregate_logger.py",
)
