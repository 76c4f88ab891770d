"""All-reduce algorithms over an emulated link."""

from functools import partial

from app.labs.ranks.emulation import (
    RankLink,
    run_naive_all_reduce,
    run_ring_all_reduce,
    run_tree_all_reduce,
    time_all_reduces,
)
from app.labs.runner.rank import WorkerRank

_ALGORITHMS = {"ring": run_ring_all_reduce, "tree": run_tree_all_reduce, "naive": run_naive_all_reduce}


def main(rank: WorkerRank) -> None:
    """Check the sums, then time every size."""
    link = RankLink(rank, rank.number("latency"), rank.number("bandwidth"))
    time_all_reduces(rank, link, partial(_ALGORITHMS[rank.word("algorithm")], link), "time")
