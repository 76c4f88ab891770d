"""The position of a process among the ranks of its run, as the program that started it tells."""

from collections.abc import Mapping
from dataclasses import dataclass

_RANK = ("RANK", "SLURM_PROCID", "JOB_COMPLETION_INDEX")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID")
_NODES = ("GROUP_WORLD_SIZE", "SLURM_NNODES")
_POD = ("JOB_COMPLETION_INDEX",)


@dataclass(frozen=True, slots=True)
class Position:
    """A *rank* among all ranks, its number on its node, and the number of *nodes*, if known."""

    rank: int
    local: int
    nodes: int | None


def rank_in(environment: Mapping[str, str]) -> int:
    """The rank that *environment* gives this process.

    Raises:
        SystemExit: nothing says which rank this is.
    """
    rank = _number(environment, _RANK)
    if rank is None:
        raise SystemExit(f"none of {', '.join(_RANK)} is set, so this process has no rank")
    return rank


def position_in(environment: Mapping[str, str], ranks: int, nodes: int | None) -> Position:
    """The position that Slurm, torchrun, an indexed Job or a person has set in *environment*.

    In an indexed Job of Kubernetes, each pod may have a torchrun of its own, which knows the ranks
    of its pod only. *ranks* and *nodes* are those that the run was to have; *nodes* may be unknown.

    Raises:
        ValueError: other ranks or nodes were started.
    """
    rank, pod = rank_in(environment), _number(environment, _POD)
    world, there = _number(environment, _WORLD) or ranks, _number(environment, _NODES)
    local, pods = _number(environment, _LOCAL) or 0, nodes or 1
    if pod is not None and there == 1 and world * pods == ranks:
        return Position(rank + pod * world, local, pods)
    if world != ranks:
        raise ValueError(f"this run has {ranks} ranks, but {world} were started")
    if nodes and there and nodes != there:
        raise ValueError(f"this run has {nodes} nodes, but was started on {there}")
    return Position(rank, local, there or nodes)


def _number(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((int(environment[name]) for name in names if environment.get(name)), None)
