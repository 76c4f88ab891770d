"""Schedules that learners write as programs, one per rank, played on a small machine."""

from app.simulators.programs.instructions import (
    COMPUTE,
    Instruction,
    Name,
    ScheduleError,
    memory_name,
    read_program,
)
from app.simulators.programs.player import (
    PlayedSchedule,
    PlayedSpan,
    ScheduleMachine,
    play_schedule,
)
from app.simulators.programs.ranks import STREAMS, Summed

__all__ = [
    "COMPUTE", "Instruction", "Name", "PlayedSchedule", "STREAMS", "ScheduleError",
    "ScheduleMachine", "PlayedSpan", "Summed", "play_schedule", "read_program", "memory_name",
]  # fmt: skip
