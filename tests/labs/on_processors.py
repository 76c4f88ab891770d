"""A worker for launchers: a lab's form for GPUs, with its numbers, on processors over gloo.

The rank thinks that it is on a GPU. A tally of all tensors stands in for the GPU's allocator, and
no time is worth anything. Copied as the worker of a lab, it may be told to break something.
"""

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode

import app.labs
from app.labs.runner import gpu
from app.labs.runner.rank import WorkerRank

BROKEN, WATCHED = "", False
_MOMENT = 0.1  # seconds


class Tally(TorchDispatchMode):  # type: ignore[misc]
    """The bytes of all tensors that live, and the most that there were at once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: WeakSet[torch.UntypedStorage] = WeakSet()
        self.peak = self.most = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, tuple | list) else (out,):
            if isinstance(one, torch.Tensor):
                self._known.add(_local(one).untyped_storage())
        now = self.allocated()
        self.peak, self.most = max(self.peak, now), max(self.most, now)
        return out

    def allocated(self) -> int:
        """Bytes that live now; FSDP frees a tensor by making it smaller."""
        return sum(storage.nbytes() for storage in self._known)

    def settled(self) -> int:
        """Bytes that live once gloo's threads have let go of what they sent."""
        found = -1
        while found != (found := self.allocated()):
            time.sleep(_MOMENT)
        return found

    def at_peak(self, call: Callable[[], object]) -> tuple[int, int]:
        """The most bytes during *call*, twice."""
        self.peak = self.allocated()
        call()
        return self.peak, self.peak


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of *tensor*."""
    if not isinstance(tensor, DTensor):
        return tensor
    with torch.no_grad():
        return tensor.to_local()


def main(rank: WorkerRank) -> None:
    """Run the worker of the run's lab."""
    lab = json.loads((rank.folder / "job.json").read_text())["lab"].replace("-", "_")
    tally = Tally()
    rank.on_gpu = True
    rank.timing.sample = timed  # type: ignore[method-assign]
    rank.budget.peak = tally.at_peak  # type: ignore[method-assign]
    gpu.free_bytes = lambda device: 2**40
    asked: list[float] = []
    rank.budget.require_room = lambda size, less: asked.append(size)  # type: ignore[method-assign]
    torch.cuda.memory_allocated = lambda _: tally.settled()
    if BROKEN in breakages:
        breakages[BROKEN]()
    path = Path(app.labs.__file__).parent / "library" / lab / "worker.py"
    spec = importlib.util.spec_from_file_location("gpu_worker", path)
    assert spec
    assert spec.loader
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    if BROKEN == "microbatches":
        skip_a_microbatch(worker)
    with tally:
        worker.main(rank)
    if WATCHED:  # what was asked for was enough, and not far too much
        rank.report.check("room", any(tally.most <= size < 2 * tally.most for size in asked))
    rank.on_gpu = False  # to leave as it came


def timed(call: Callable[[], object], *_: Any, **__: Any) -> list[float]:
    """The times of two calls, which are not those of a GPU."""
    found = []
    for _call in range(2):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return found


def keep_gradients_to_oneself() -> None:
    """DDP no longer reduces."""
    made = nn.parallel.DistributedDataParallel.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        self.register_comm_hook(None, as_it_is)

    nn.parallel.DistributedDataParallel.__init__ = init


def as_it_is(_: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A bucket that is not reduced."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def forget_the_sum() -> None:
    """Rows are multiplied, and their products not summed over the ranks."""
    from torch.distributed.tensor import Partial
    from torch.distributed.tensor.parallel import RowwiseParallel

    made = RowwiseParallel.__init__
    RowwiseParallel.__init__ = lambda self: made(self, output_layouts=Partial())


def pass_nothing_on() -> None:
    """The block that comes is one's own."""
    from app.labs.ranks.emulation import Neighbors

    def pass_on(_: Neighbors, block: torch.Tensor, into: torch.Tensor) -> Callable[[], None]:
        into.copy_(block)
        return lambda: None

    Neighbors.pass_on = pass_on  # type: ignore[assignment,method-assign]


def skip_a_microbatch(worker: Any) -> None:
    """The loss of one micro-batch does not count."""
    losses = iter([0.0] + [1.0] * 99)
    real = worker._mean_square
    worker._mean_square = lambda found, target: next(losses) * real(found, target)


def lose_a_segment() -> None:
    """A checkpoint that has nothing to recompute from."""
    import torch.utils.checkpoint as checkpoints

    checkpoints.checkpoint = lambda call, given, **_: call(given.detach()) + 0 * given


breakages = {
    "averages": keep_gradients_to_oneself,
    "sums": forget_the_sum,
    "blocks": pass_nothing_on,
    "segments": lose_a_segment,
}
