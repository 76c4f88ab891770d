"""Schedules that learners write as programs, one per rank, played on a small machine."""

from app.simulators.programs.instructions import (
    COMPUTE,
    Instruction,
    Name,
    ScheduleError,
    read_program,
    written,
)
from app.simulators.programs.playing import PlayedSchedule, ScheduleMachine, Span, play_schedule
from app.simulators.programs.ranks import STREAMS, Summed

__all__ = [
    "COMPUTE", "Instruction", "Name", "PlayedSchedule", "STREAMS", "ScheduleError",
    "ScheduleMachine", "Span", "Summed", "play_schedule", "read_program", "written",
]  # fmt: skip
