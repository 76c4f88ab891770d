"""The cores and the memory that this process may use: a container has less than its host."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")


def cores_allotted(groups: Path = _GROUPS, own: Path = _OWN) -> int | float:
    """Cores that this process may use: those of its affinity, or fewer by the quota of its group.

    In a job of Slurm, those of all its tasks on this node.
    """
    cores = int(os.environ.get("SLURM_CPUS_ON_NODE", "0")) or len(os.sched_getaffinity(0))
    quota = min(_quotas(groups, own), default=cores)
    return cores if quota >= cores else round(quota, 2)


def memory_allotted(groups: Path = _GROUPS, own: Path = _OWN) -> int:
    """Bytes of memory that this process may use: the host's, or fewer by the limit of its group."""
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (
        int(text)
        for folder in _folders(groups, own, "memory")
        for name in ("memory.max", "memory.limit_in_bytes")
        if (text := _read_allotment(folder / name)).isdigit()
    )
    return min((host, *limits))


def _quotas(groups: Path, own: Path) -> Iterator[float]:
    """Cores by quota, of this process's group and those above it, in both versions of cgroups."""
    for folder in _folders(groups, own, "cpu"):
        quota, _, period = _read_allotment(folder / "cpu.max").partition(" ")
        if not quota:
            quota = _read_allotment(folder / "cpu.cfs_quota_us")
            period = _read_allotment(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _folders(groups: Path, own: Path, controller: str) -> Iterator[Path]:
    """The folders of this process's group for *controller*, and of every group above it."""
    for line in _read_allotment(own).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and controller not in controllers.split(","):
            continue
        root = groups if number == "0" else groups / controller
        group = root / path.lstrip("/")
        yield from (one for one in (group, *group.parents) if one.is_relative_to(root))


def _read_allotment(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""
