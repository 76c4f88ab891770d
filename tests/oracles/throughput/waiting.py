"""Workers that take one thing after another: tiles, launches and samples."""

from heapq import heapreplace


def time_of_tiles(rows: int, columns: int, tile: tuple[int, int], processors: int) -> int:
    """Tile times until every cell of an output is computed, tile by tile, by the first one free."""
    free = [0] * processors
    for _ in range(0, rows, tile[0]):
        for _ in range(0, columns, tile[1]):
            heapreplace(free, free[0] + 1)
    return max(free)


def launched(kernels: int, launch_time: float, device_time: float) -> float:
    """Time until the last of equal kernels has run, each launched and then run in order."""
    host = device = 0.0
    for _ in range(kernels):
        host += launch_time
        device = max(device, host) + device_time / kernels
    return device


def last_batch(workers: int, samples: int, sample_time: float, steps: int) -> float:
    """Time until *workers* have prepared the samples of *steps* steps."""
    free = [0.0] * workers
    for _ in range(steps * samples):
        heapreplace(free, free[0] + sample_time)
    return max(free)
