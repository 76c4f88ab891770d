"""NCCL, or RCCL on AMD: the version that is loaded, and the transports that it chose."""

import ctypes
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch

_MAPS = Path("/proc/self/maps")
_LIBRARY = re.compile(r"(?<!\S)/\S*/lib[nr]ccl\.so\S*")
_OLD = 10_000  # version codes below it are 1000 x major + 100 x minor + patch
# "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"; a network has its name, a number, and GDRDMA.
_VIA = re.compile(
    r" via (?:(?P<near>P2P|SHM)/(?P<how>\w+)"
    r"|NET/(?P<net>.+?)/\d+(?:\(\d+\))?(?P<direct>/GDRDMA)?(?:\W|$))"
)
_IN_SWITCH = re.compile(r"\bNVLS comm 0x")


def versions() -> Mapping[str, str]:
    """The versions of what this rank's GPU is used through."""
    loaded = _loaded_version() or ".".join(map(str, torch.cuda.nccl.version()))
    if torch.version.hip:
        return {"rccl": loaded, "hip": str(torch.version.hip)}
    return {"nccl": loaded, "cuda": str(torch.version.cuda)}


def version_of(code: int) -> str:
    """The version that ncclGetVersion gives as *code*.

    >>> version_of(22703), version_of(2804)
    ('2.27.3', '2.8.4')
    """
    thousand = 1000 if code < _OLD else 10_000
    return f"{code // thousand}.{code % thousand // 100}.{code % 100}"


def prepare(folder: Path, rank: int) -> None:
    """Have NCCL write what it chooses to a file in *folder*, unless the user has chosen a place.

    Where gloo was told that all ranks are on this machine, NCCL is told the same.
    """
    if os.environ.get("GLOO_SOCKET_IFNAME") == "lo":
        os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")
    if "NCCL_DEBUG" not in os.environ:
        os.environ["NCCL_DEBUG"] = "INFO"
        os.environ.setdefault("NCCL_DEBUG_SUBSYS", "INIT,NET")
        os.environ.setdefault("NCCL_DEBUG_FILE", str(_log(folder, rank)))


def transports(folder: Path, rank: int) -> list[str]:
    """The transports that NCCL has chosen for *rank*, as far as its log says."""
    try:
        with _log(folder, rank).open(errors="replace") as log:
            return sorted(transports_in(log))
    except OSError:
        return []


def transports_in(lines: Iterable[str]) -> set[str]:
    """The transports that *lines* of NCCL's log name.

    >>> transports_in(["a:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read"])
    {'P2P/CUMEM'}
    >>> transports_in(["Channel 02/0 : 7[1] -> 0[0] [receive] via NET/IBext_v8/1/GDRDMA"])
    {'NET/IBext_v8/GDRDMA'}
    """
    found = set()
    for line in lines:
        if _IN_SWITCH.search(line):
            found.add("NVLS")
        elif via := _VIA.search(line):
            near = f"{via['near']}/{via['how']}"
            found.add(near if via["near"] else f"NET/{via['net']}{via['direct'] or ''}")
    return found


def _log(folder: Path, rank: int) -> Path:
    return folder / f"nccl{rank}.log"


def _loaded_version() -> str:
    """The version of the library that this process has loaded; empty if it has none."""
    try:
        path = _LIBRARY.search(_MAPS.read_text())
        library = ctypes.CDLL(path[0]) if path else None
    except OSError:
        return ""
    code = ctypes.c_int()
    if library is None or library.ncclGetVersion(ctypes.byref(code)):
        return ""
    return version_of(code.value)
