"""The GPU of a rank: which one it is, what fits on it, and its queue."""

import platform
from collections.abc import Callable, Sequence

import torch

from app.labs.runner.timer import Mark

_INFINITY_CACHE = 256 * 2**20  # bytes in front of the memory of an MI300, beside its L2
_CYCLES = 2_000_000  # to find out how long one takes
_MILLI = 1e-3
_TIMES, _MOST_COPIES = 2, 4096  # operands are this many times the cache
_SPARE = 2**30  # bytes for the workspaces of libraries


class GpuStream:
    """The queue of *device*: its current stream."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._spins: list[tuple[Mark, Mark, int]] = []

    def mark(self) -> Mark:
        """Add an event."""
        return _GpuMark()

    def spin(self, seconds: float) -> None:
        """Have the GPU spin for about that long before what is added next.

        It counts cycles, and its clock may rise or fall: each spin learns from the one before, which must be over.
        """
        if not self._spins:
            for _ in range(2):  # the first also loads the kernel
                self._add_spin(_CYCLES)
                self.synchronize()
        begun, ended, cycles = self._spins[-1]
        self._add_spin(int(seconds * cycles / begun.seconds_to(ended)))

    def synchronize(self) -> None:
        """Wait until the GPU has done everything."""
        torch.cuda.synchronize(self._device)

    def _add_spin(self, cycles: int) -> None:
        begun = self.mark()
        torch.cuda._sleep(cycles)
        self._spins = [(begun, self.mark(), cycles)]


class _GpuMark:
    """An event in the current stream."""

    def __init__(self) -> None:
        self.event = torch.cuda.Event(enable_timing=True)
        self.event.record()

    def has_passed(self) -> bool:
        """Whether the GPU has reached it."""
        return bool(self.event.query())

    def seconds_to(self, later: Mark) -> float:
        """Seconds on the GPU from this event to a *later* one."""
        if not isinstance(later, _GpuMark):
            raise TypeError("events of two kinds have no time between them")
        return float(self.event.elapsed_time(later.event)) * _MILLI


def own_gpu(local: int) -> torch.device:
    """The GPU of the rank that is number *local* on its node, from now on the current one.

    A launcher may show every rank all GPUs of the node, or each rank only its own, called 0.
    """
    count = torch.cuda.device_count()
    if not count:
        raise RuntimeError(f"rank {local} of {platform.node()} sees no GPU: torch {torch.__version__} finds none")
    device = torch.device("cuda", local % count)
    torch.cuda.set_device(device)
    return device


def identity(device: torch.device) -> str:
    """The host and the UUID of *device*; empty where torch does not know the UUID."""
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", "")
    return f"{platform.node()} {uuid}" if str(uuid).strip("0-") else ""


def refuse_twins(identities: Sequence[str]) -> None:
    """Raise an error if two ranks have the same GPU; *identities* are those of all ranks."""
    first: dict[str, int] = {}
    for rank, one in enumerate(identities):
        if one and one in first:
            host, _, uuid = one.partition(" ")
            raise RuntimeError(
                f"ranks {first[one]} and {rank} both have GPU {uuid} of {host}: start one rank "
                "per GPU, and let each see its own GPU or all of them"
            )
        first[one] = rank


def cache_bytes(device: torch.device) -> int:
    """Bytes of the largest cache in front of the memory of *device*."""
    own = int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0))
    return max(own, _INFINITY_CACHE if torch.version.hip else 0)


def copies(size: float, cache: int) -> int:
    """How many operands of *size* bytes are more than twice a *cache*, at most a few thousand.

    >>> copies(1 << 20, 50 << 20), copies(1 << 30, 50 << 20)
    (101, 1)
    """
    return min(_MOST_COPIES, int(_TIMES * cache / size) + 1)


def free_bytes(device: torch.device) -> int:
    """Bytes that can be allocated on *device*, with some left for libraries."""
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info(device)
    return int(free) - _SPARE


def peak(call: Callable[[], object], device: torch.device) -> tuple[int, int]:
    """Bytes allocated and reserved on *device* at the peak of *call*."""
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    call()
    torch.cuda.synchronize(device)
    allocated, reserved = (torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device))
    return int(allocated), int(reserved)
