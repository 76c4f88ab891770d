"""Pipeline schedules, simulated event by event."""

from app.core.simulators.pipeline.player import *
from app.core.simulators.pipeline.schedules import *

__all__ = [
    "SCHEDULES", "Block", "Pass", "SimulatedSchedule", "PipelineSchedule", "Slot", "Times", "build", "kept_over_time",
    "simulate_schedule",
]  # fmt: skip
