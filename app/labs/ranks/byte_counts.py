"""Count the bytes that ranks hold, and that their collectives send."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def bytes_of(tensor: torch.Tensor) -> int:
    """Bytes of this rank's part of *tensor*."""
    own = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return int(own.numel() * own.element_size())


class SentBytes(TorchDispatchMode):
    """Counts the collectives that are really issued, and the bytes that a ring sends for each."""

    def __init__(self, world: int) -> None:
        super().__init__()
        self.world = world
        self.bytes = 0.0
        self.calls: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count *func* if it is a collective, and call it."""
        name = str(func)
        if name.startswith(("c10d.", "_c10d_functional.")):
            shares = _SHARES.get(name.partition(".")[2].partition(".")[0].rstrip("_"))
            if shares:
                which, times = shares
                given = args[which]
                while isinstance(given, list | tuple):
                    given = given[0]
                if not isinstance(given, torch.Tensor):
                    raise TypeError(f"a collective was called with {type(given).__name__}, not a tensor")
                size = bytes_of(given)
                self.bytes += times * size * (self.world - 1) / self.world
                self.calls[name] = self.calls.get(name, 0) + 1
        return func(*args, **(kwargs or {}))


# Which argument is the whole array, and how often a ring sends its share of it.
_SHARES = {
    "allreduce": (0, 2),
    "broadcast": (0, 1),
    "_allgather_base": (0, 1),
    "_reduce_scatter_base": (1, 1),
    "all_reduce": (0, 2),
}
