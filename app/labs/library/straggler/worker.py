"""Data-parallel steps with one slow rank."""

import time
from functools import partial

import torch
import torch.distributed as dist

from app.labs.ranks.emulation import sleep_until
from app.labs.runner.rank import WorkerRank

_WIDTH = 256


def main(rank: WorkerRank) -> None:
    """Check the sum, then time the steps and the wait in each."""
    slowness = rank.number("slowness") if rank.rank == rank.world - 1 else 1.0
    work = rank.number("compute") * slowness
    gradient = torch.full((_WIDTH,), float(rank.rank))
    dist.all_reduce(gradient)
    rank.report.check("sum", bool((gradient == rank.world * (rank.world - 1) / 2).all()))
    waited: list[float] = []
    step = partial(_step, work, rank.number("reduce"), gradient, waited)
    samples = rank.timing.sample(step, seconds=2.0, least=5, most=10, warmed_up=waited.clear, at_once=True)
    rank.report.measure("step", samples)
    rank.report.measure("waiting", waited)


def _step(work: float, reduce: float, gradient: torch.Tensor, waited: list[float]) -> None:
    sleep_until(time.perf_counter() + work)
    ready = time.perf_counter()
    dist.barrier()
    all_there = time.perf_counter()
    waited.append(all_there - ready)
    dist.all_reduce(gradient)
    sleep_until(all_there + reduce)
