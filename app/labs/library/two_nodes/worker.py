"""A flat ring or a hierarchical all-reduce over two emulated nodes."""

from functools import partial

from app.labs.ranks.emulation import RankLink, run_hierarchical_all_reduce, run_ring_all_reduce, time_all_reduces
from app.labs.runner.rank import WorkerRank


def main(rank: WorkerRank) -> None:
    """Check the sums, then time every size."""
    if rank.world % 2:
        raise ValueError(f"two equal nodes need an even number of ranks, not {rank.world}")
    node, name = rank.world // 2, rank.word("algorithm")
    link = RankLink(rank, rank.number("latency"), rank.number("inside"), node=node, across=rank.number("across"))
    staged = partial(run_hierarchical_all_reduce, link, node=node)
    time_all_reduces(rank, link, staged if name == "hierarchical" else partial(run_ring_all_reduce, link), name)
