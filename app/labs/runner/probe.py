"""What torch says about the GPUs of this machine: `python -m app.labs.runner.probe`.

It runs in a process that exits afterwards: a child of the zygote, of a rank that has not begun, or
one of its own. A process that has initialized CUDA cannot fork ranks that use it.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

_ONES = 8
_LONGEST = 400  # characters of an error


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenDevice:
    """A GPU as torch sees it.

    *fault* is the error of a small kernel on it, and *peers* are the numbers of the GPUs whose
    memory it can access. For an AMD GPU, *capability* is the name of its architecture.
    """

    name: str
    uuid: str = ""
    capability: str = ""
    memory_bytes: int = 0
    free_bytes: int = 0
    fault: str = ""
    peers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchProbe:
    """Torch's version, the CUDA or HIP that it was built for, and its GPUs, or the error."""

    torch: str = ""
    cuda: str = ""
    hip: str = ""
    devices: tuple[SeenDevice, ...] = ()
    error: str = ""


def probe_torch() -> TorchProbe:
    """What torch sees; this initializes CUDA, unless torch was built without it."""
    import torch

    found, version = TorchProbe(torch=str(torch.__version__)), torch.version
    if not version.cuda and not version.hip:
        return replace(found, error="it was built without CUDA and without ROCm")
    found = replace(found, cuda=version.cuda or "", hip=version.hip or "")
    try:
        torch.cuda.init()
        count = torch.cuda.device_count()
        with ThreadPoolExecutor(max(1, count)) as pool:  # a context takes a fraction of a second
            return replace(found, devices=tuple(pool.map(partial(_device, count), range(count))))
    except Exception as error:  # noqa: BLE001  # of the driver or the build: it is the answer
        return replace(found, error=_probe_line(error))


def main() -> int:
    """Print what torch sees, as a line of JSON."""
    found = probe_torch()
    os.write(1, f"\n{json.dumps(asdict(found))}\n".encode())  # after whatever a driver has printed
    return 0


def print_into(printed: Path) -> NoReturn:
    """Ask torch in this process, print the answer into the file *printed*, and exit."""
    try:
        descriptor = os.open(printed, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        main()
    finally:
        os._exit(0)


def _device(count: int, number: int) -> SeenDevice:
    """The GPU called *number*, of *count*."""
    import torch

    is_one_of = torch.cuda.get_device_properties(number)
    fault, free = "", 0
    try:
        if torch.ones(_ONES, device=f"cuda:{number}").sum().item() != _ONES:
            fault = "it adds wrongly"
        free, _ = torch.cuda.mem_get_info(number)
    except Exception as error:  # noqa: BLE001  # as above
        fault = _probe_line(error)
    reached = torch.cuda.can_device_access_peer
    return SeenDevice(
        name=is_one_of.name,
        uuid=str(getattr(is_one_of, "uuid", "")),
        capability=_capability(is_one_of),
        memory_bytes=is_one_of.total_memory,
        free_bytes=free,
        fault=fault,
        peers=tuple(n for n in range(count) if n != number and not fault and reached(number, n)),
    )


def _capability(properties: object) -> str:
    import torch

    if torch.version.hip:
        return str(getattr(properties, "gcnArchName", "")).partition(":")[0]
    return f"{getattr(properties, 'major', 0)}.{getattr(properties, 'minor', 0)}"


def _probe_line(error: Exception) -> str:
    """The first line of *error*: what follows are hints for those who debug kernels."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return (text or type(error).__name__)[:_LONGEST]


if __name__ == "__main__":
    sys.exit(main())
