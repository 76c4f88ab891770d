"""From how many tokens on computation hides the traffic, one step after the other."""

import pytest

from app.core.formulas.collectives import ring_all_gather_time, ring_all_reduce_time, ring_reduce_scatter_time
from app.core.formulas.overlap import fsdp_tokens_to_hide, tokens_to_hide
from tests.each import each
from tests.oracles.overlap import sharded_forward

MANY = 10**7  # ranks: (n - 1) / n is nearly 1


@each(("peak", "bandwidth"), [(989e12, 50e9), (989e12, 400e9), (312e12, 25e9), (2250e12, 100e9)])
def test_fsdp_tokens_to_hide_is_the_limit_of_many_ranks_forward_and_backward(peak: float, bandwidth: float) -> None:
    parameters = 855_654_400
    gathered = ring_all_gather_time(2 * parameters, MANY, bandwidth)
    forward = tokens_to_hide(gathered, parameters, peak)
    reduced = ring_reduce_scatter_time(2 * parameters, MANY, bandwidth)
    backward = (gathered + reduced) * peak / (4 * parameters)
    plain = ring_all_reduce_time(2 * parameters, MANY, bandwidth) * peak / (4 * parameters)
    for tokens in (forward, backward, plain):
        assert fsdp_tokens_to_hide(peak, bandwidth) == pytest.approx(tokens, rel=1e-6)


@each("element_bytes", [1, 2, 4])
def test_fsdp_tokens_to_hide_is_where_a_forward_pass_on_a_clock_no_longer_waits(element_bytes: int) -> None:
    peak, bandwidth, parameters, layers = 989e12, 50e9, 10**9, 12
    gather = element_bytes * parameters / bandwidth
    tokens = fsdp_tokens_to_hide(peak, bandwidth, element_bytes)
    for more, waits in ((1.01, False), (0.99, True)):
        compute = 2 * parameters * tokens * more / peak
        end = sharded_forward([compute] * layers, [gather] * layers)
        assert (end > (gather + layers * compute) * (1 + 1e-9)) == waits
