"""OLMo-core: a line for the step, and its numbers on the lines below."""

import re

from app.core.measurements.logs.families.base import LogFamily

OLMO_CORE = LogFamily(
    name="olmo-core",
    title="OLMo-core",
    step=re.compile(r"\[step=(?P<step>\d{1,15})/(?P<total>\d{1,15})[,\]]"),
    below=True,
    mfu_scale=0.01,
    mfu_of="OLMo-core divides by the peak of an A100 for a GPU that it does not know",
    sample="""\
2025-03-01 10:00:10.120\tnode0:0\tolmo_core.train.callbacks.console_logger:96\tINFO\t\
[step=10/2384,epoch=1,eta=12:00:00]
    optim/LR (group 0)=0.0004
    throughput/device/MFU=41.20
    throughput/device/TPS=12,345
    train/CE loss=6.120
2025-03-01 10:00:27.120\tnode0:0\tolmo_core.train.callbacks.console_logger:96\tINFO\t\
[step=20/2384,epoch=1,eta=12:00:00]
    optim/LR (group 0)=0.0004
    throughput/device/MFU=41.22
    throughput/device/TPS=12,351
    train/CE loss=5.980
""",
    source="made, after allenai/OLMo-core, src/olmo_core/train/callbacks/console_logger.py",
)
