"""Collectives: a start, steps, and bytes at the bandwidth that a group of this size reaches."""

from app.core.formulas.parallelism.numbers import Numbers, Value
from app.core.formulas.step.speeds import Net


def ring(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value, rounds: int = 1) -> Value:
    """Seconds of a ring over *ranks* GPUs, each *stride* GPUs from the next.

    An all-gather or a reduce-scatter is one round, an all-reduce two. Inside a domain:

        T = start + rounds (n - 1) step + rounds S (n - 1) / n / (B n / (n + ramp))

    Across domains, steps inside them and between them take their own time, and the groups of a
    domain share its network.
    """
    sent = rounds * size * (ranks - 1) / ranks
    reached = net.inside * ranks / (ranks + net.ramp)
    inside = net.inside_start + rounds * (ranks - 1) * net.inside_step + sent / reached
    here = _in_a_domain(net, on, ranks, stride)
    others = on.ceil(ranks / here) - 1
    hops = (ranks - 1 - others) * net.inside_step + others * net.across_step
    speed = on.smaller(net.across * here, net.inside)
    across = net.across_start + rounds * hops + sent / speed
    near = on.where(ranks * stride <= net.ranks, inside, across)
    return on.where(ranks > 1, near, 0.0)


def exchange(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value) -> Value:
    """Seconds of an all-to-all in which each of *ranks* GPUs sends *size* bytes.

    What leaves the domain goes over the GPU's own network link while the rest stays inside.
    """
    here = _in_a_domain(net, on, ranks, stride)
    stays = net.inside_start + size * (here - 1) / ranks / net.inside
    leaves = net.across_start + size * (ranks - here) / ranks / net.across
    near = on.where(ranks * stride <= net.ranks, stays, on.larger(leaves, stays))
    return on.where(ranks > 1, near, 0.0)


def message(net: Net, on: Numbers, size: Value, ranks: Value, stride: Value) -> Value:
    """Seconds in which a GPU sends *size* bytes to the next of *ranks*, *stride* GPUs away."""
    inside = net.inside_start + size / net.inside
    across = net.across_start + size / net.message
    return on.where(ranks * stride <= net.ranks, inside, across)


def _in_a_domain(net: Net, on: Numbers, ranks: Value, stride: Value) -> Value:
    """Ranks of a group that are in the same domain."""
    return on.smaller(ranks, on.larger(1, -on.ceil(-net.ranks / stride)))
