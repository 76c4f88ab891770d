"""MaxText."""

import re

from app.core.measurements.logs.families.base import LogFamily

MAXTEXT = LogFamily(
    name="maxtext",
    title="MaxText",
    step=re.compile(r"\bcompleted step:\s{0,30}(?P<step>\d{1,15})"),
    sample="""\
completed step: 18, seconds: 11.722, TFLOP/s/device: 348.548, Tokens/s/device: 6760.245, loss: 1.540
completed step: 19, seconds: 11.716, TFLOP/s/device: 348.750, Tokens/s/device: 6760.245, loss: 1.531
""",
    source="made, after AI-Hypercomputer/maxtext, src/maxtext/metric_logger.py",
)
