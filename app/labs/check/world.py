"""What the steps of the check look at: the machine, its tools, and runs on it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.db.run_state import RunState
from app.labs.machines.devices import Devices
from app.labs.machines.vendor import Output
from app.labs.results.report import Report

NO_VARIABLES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a run went: its report, and the *seconds* until its ranks had met and until it ended."""

    report: Report
    joined: float = 0.0
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        """Whether it ended well, and its data was right."""
        return self.report.state is RunState.DONE and all(self.report.checks.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """How a run went that failed on purpose; *left* are its processes that still ran after it."""

    state: RunState
    cause: str
    seconds: float
    left: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchProcess:
    """The process with torch, from which ranks are forked, and the *files* that it has open."""

    pid: int
    version: str
    seconds: float
    files: tuple[str, ...]


class World(Protocol):
    """A machine, or a cluster with at most *nodes* nodes for a run."""

    @property
    def quick(self) -> bool:
        """Whether to leave out what takes minutes."""

    @property
    def record(self) -> Path | None:
        """The file for runs that a board takes; None if there is to be none."""

    @property
    def is_slurm(self) -> bool:
        """Whether runs are jobs of Slurm."""

    @property
    def nodes(self) -> int:
        """How many nodes a run may use."""

    @property
    def begun(self) -> float:
        """When the check began, in seconds since the machine was started."""

    def devices(self) -> Devices:
        """The GPUs that a run may use."""

    def ask(self, *command: str) -> Output:
        """What a tool of the system or of the vendor prints."""

    def names_in(self, folder: str) -> list[str]:
        """The files of *folder*; none if it is not there."""

    def size_of(self, folder: str) -> float:
        """Bytes of the file system of *folder*; 0 if it is not there."""

    def locked_memory(self) -> float:
        """Bytes that a process may lock in memory; infinite if there is no limit."""

    def torch_process(self) -> TorchProcess:
        """The process with torch, which is started if it does not run.

        Raises:
            UnavailableError: torch cannot be imported.
        """

    def run(
        self,
        lab: str,
        given: Mapping[str, str],
        backend: str = "auto",
        variables: Mapping[str, str] = NO_VARIABLES,
        site: str = "",
    ) -> Ran:
        """Run *lab* to its end, with environment *variables* and one more option of sbatch.

        Raises:
            InputError: the lab does not take these parameters, or GPUs are missing.
            UnavailableError: it cannot be started.
        """

    def fail(self, what: str, rank: int, ranks: int, backend: str, seconds: float) -> Broke:
        """Let *rank* of *ranks* go wrong in a run that may take *seconds*; `nothing`: none does.

        Raises:
            UnavailableError: it cannot be started.
        """

    def canceled(self) -> list[str]:
        """Start a job of Slurm, cancel it, and list what is left of it."""
