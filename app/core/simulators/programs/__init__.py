"""Schedules that learners write as programs, one per rank, played on a small machine."""

from app.core.simulators.programs.instructions import *
from app.core.simulators.programs.player import *

__all__ = [
    "COMPUTE", "Instruction", "Name", "PlayedSchedule", "PlayedSpan", "STREAMS", "ScheduleError", "ScheduleMachine",
    "Summed", "known_schedules", "memory_name", "play_schedule", "read_program", "read_schedule_code", "schedule_code",
]  # fmt: skip
