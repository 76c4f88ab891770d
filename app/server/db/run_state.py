"""The states of a lab run, as the database and the files of a run store them."""

from enum import StrEnum


class RunState(StrEnum):
    """The state of a run; all but the first two are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELED = "cancelled"
    TIMEOUT = "timeout"
    LOST = "lost"

    @property
    def word(self) -> str:
        """The state in a sentence: what is stored is spelled as it was at first."""
        return "canceled" if self is RunState.CANCELED else self.value


UNFINISHED = (RunState.QUEUED, RunState.RUNNING)
