"""Slurm's commands, and its queue as squeue prints it."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.errors import UnavailableError

_PATIENCE = 20.0  # seconds for a command of Slurm
_FIELDS = "--format=%i|%T|%r"
_NEVER = {
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
}
_WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "SUSPENDED"}
_GOING = {"RUNNING", "COMPLETING", "STAGE_OUT", "SIGNALING", "RESIZING"}


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job in Slurm's queue; *place* is its position among the *waiting* jobs, from 1."""

    state: str
    reason: str
    place: int
    waiting: int

    @property
    def is_waiting(self) -> bool:
        """Whether it has not begun."""
        return self.state in _WAITING

    @property
    def is_going(self) -> bool:
        """Whether it has begun, and Slurm has not cleaned up after it."""
        return self.state in _GOING

    @property
    def never_starts(self) -> bool:
        """Whether Slurm would never start it as it was asked for."""
        return self.reason in _NEVER


def read_queue() -> Mapping[str, QueuedJob]:
    """All jobs of this user by their numbers, also those that have ended a moment ago.

    Raises:
        UnavailableError: Slurm does not answer.
    """
    done = slurm_output("squeue", "--me", "--noheader", "--states=all", "--sort=-p,i", _FIELDS)
    if done.returncode:
        raise UnavailableError(last_line(done.stderr))
    rows = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]  # noqa: PLR2004
    waiting = [number for number, state, _ in rows if state == "PENDING"]
    return {
        number: QueuedJob(state, reason, waiting.index(number) + 1 if number in waiting else 0, len(waiting))
        for number, state, reason in rows
    }


def slurm_output(*command: str) -> "subprocess.CompletedProcess[str]":
    """The output of a Slurm command.

    Raises:
        UnavailableError: it cannot be run, or does not answer.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"{command[0]} does not answer within {_PATIENCE:g} s") from None
    except OSError as error:
        raise UnavailableError(f"{command[0]} cannot be run: {error.strerror}") from error


def last_line(text: str) -> str:
    """The last line that is not blank."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no output"
