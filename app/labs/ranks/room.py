"""Memory that a lab needs on every GPU: refused with words before it runs out."""

from app.labs.ranks import gpu
from app.labs.ranks.rank import WorkerRank

_GIB = 2**30


def require_room(rank: WorkerRank, size: float, less: str) -> None:
    """Refuse to go on if *size* bytes do not fit on every GPU; *less* says what to lower.

    Raises:
        ValueError: they do not fit.
    """
    free = min(rank.everywhere(gpu.free_bytes(rank.device)))
    if size > free:
        raise ValueError(
            f"this takes {size / _GIB:.3g} GiB of each GPU, and one of them has "
            f"{max(0.0, free / _GIB):.3g} GiB free: lower {less}"
        )
