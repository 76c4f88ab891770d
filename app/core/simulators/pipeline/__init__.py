"""Pipeline schedules, simulated event by event."""

from app.core.simulators.pipeline.player import (
    Block,
    Pass,
    PipelineSchedule,
    SimulatedSchedule,
    Slot,
    Times,
    kept_over_time,
    simulate_schedule,
)
from app.core.simulators.pipeline.schedules import SCHEDULES, build

__all__ = [
    "SCHEDULES", "Block", "Pass", "SimulatedSchedule", "PipelineSchedule", "Slot", "Times", "build", "kept_over_time",
    "simulate_schedule",
]  # fmt: skip
