"""The numbers of ranks and the latencies over which closed forms are held against play."""

from app.core.formulas.checks import ZeroStage
from tests.each import each

SIZE, BANDWIDTH = 1.3e9, 50e9

over_ranks = each("ranks", [1, 2, 3, 5, 8, 64])
over_latencies = each("latency", [0.0, 5e-6])

STAGES: tuple[ZeroStage, ...] = (0, 1, 2, 3)
over_stages = each("stage", STAGES)
