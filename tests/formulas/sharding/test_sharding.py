import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.formulas.collectives import ring_all_reduce_bytes, ring_all_reduce_time
from app.core.formulas.presets import cluster
from app.core.formulas.sharding import (
    column_shard,
    context_gather_bytes,
    context_ring_bytes,
    context_ring_hides,
    data_parallel_degree,
    expert_all_to_all_bytes,
    expert_capacity,
    expert_imbalance,
    heads_per_rank,
    parallelism_order,
    row_shard,
    sequence_parallel_traffic_bytes,
    tensor_all_reduce_size,
    tensor_all_reduces,
    tensor_overhead,
    tensor_traffic_bytes,
)
from app.core.simulators.sharding import route
from tests.each import each
from tests.oracles.collectives import ring_all_gather
from tests.oracles.sharding import Matrix, bend, counted_product, parallel_mlp, pass_blocks
from tests.tables import Row, rows

RANKS = st.sampled_from([1, 2, 3, 4, 8])


def drawn(source: random.Random, high: int, wide: int) -> Matrix:
    return [[source.randint(-9, 9) for _ in range(wide)] for _ in range(high)]


@given(RANKS, st.integers(1, 3), st.integers(0, 99))
def test_column_shard_and_row_shard_are_the_parts_that_give_the_whole_result(ranks: int, wide: int, seed: int) -> None:
    source = random.Random(seed)
    tokens, hidden, inner = 2 * ranks, 3, wide * ranks
    given, up, down = (drawn(source, *shape) for shape in ((tokens, hidden), (hidden, inner), (inner, hidden)))
    split = parallel_mlp(given, up, down, ranks)
    assert split.results == [counted_product(bend(counted_product(given, up)), down)] * ranks
    assert set(split.first_shapes) == {tuple(column_shard(hidden, inner, ranks))}
    assert set(split.second_shapes) == {tuple(row_shard(inner, hidden, ranks))}


@given(RANKS, st.integers(1, 3), st.integers(1, 3))
def test_tensor_traffic_bytes_tensor_all_reduce_size_and_sequence_parallel_traffic_bytes_are_what_ranks_really_send(
    ranks: int, batch: int, wide: int
) -> None:
    source = random.Random(1)
    tokens, hidden, inner = batch * ranks, 4, wide * ranks
    given, up, down = (drawn(source, *shape) for shape in ((tokens, hidden), (hidden, inner), (inner, hidden)))
    size = tensor_all_reduce_size(batch, ranks, hidden)
    blocks = tensor_all_reduces(3, passes=2) * 5  # three layers, five micro-batches
    for in_rows, formula in ((False, tensor_traffic_bytes), (True, sequence_parallel_traffic_bytes)):
        split = parallel_mlp(given, up, down, ranks, in_rows=in_rows)
        assert split.sent == [split.sent[0]] * ranks
        assert formula(size, 3, ranks, microbatches=5) == pytest.approx(2 * blocks * split.sent[0], rel=1e-12)


def test_column_shard_and_row_shard_of_a_known_matrix() -> None:
    assert column_shard(8192, 8192, 8) == (8192, 1024)
    assert row_shard(8192, 8192, 8) == (1024, 8192)
    with pytest.raises(ValueError, match=r"^ranks must divide the columns, 8192, not 7"):
        column_shard(8192, 8192, 7)
    with pytest.raises(ValueError, match=r"^ranks must divide the rows, 8192, not 7"):
        row_shard(8192, 8192, 7)


def test_tensor_all_reduces_and_tensor_all_reduce_size_and_what_follows() -> None:
    size = tensor_all_reduce_size(1, 4096, 8192)
    assert size == 64 * 2**20
    assert ring_all_reduce_bytes(size, 8) == 112 * 2**20 == pytest.approx(117.44e6, rel=1e-4)
    assert tensor_traffic_bytes(size, 80, 8, passes=1) == pytest.approx(18.79e9, rel=1e-3)
    time = ring_all_reduce_time(size, 8, 600e9)
    assert time == pytest.approx(0.196e-3, rel=2e-3)
    assert tensor_overhead(time, 80, 0.3) == pytest.approx(0.2088, abs=5e-5)
    assert tensor_overhead(ring_all_reduce_time(size, 8, 100e9), 80, 0.3) == pytest.approx(1.253, abs=5e-4)
    assert tensor_all_reduces(80) == 320


def test_tensor_overhead_is_the_time_that_a_micro_batch_waits() -> None:
    clock = waiting = 0.0
    for _layer in range(5):
        for _pass in range(2):
            for _block in range(2):
                clock += 3.0
                waiting += 0.25
    assert tensor_overhead(0.25, 5, clock) == pytest.approx(waiting / clock, rel=1e-12)


def test_tensor_traffic_bytes_are_megatrons_eight_b_s_h() -> None:
    facts = {row.text("quantity"): row.text("value") for row in rows("megatron_sc21_text")}
    assert facts["TP communication per layer per device per microbatch"] == "8 b s h (t-1)/t"
    b, s, h, t = 3, 2048, 12288, 8
    elements = 8 * b * s * h * (t - 1) / t
    assert tensor_traffic_bytes(tensor_all_reduce_size(b, s, h), 1, t) == pytest.approx(2 * elements)
    again = {row.text("stage"): row for row in rows("zero_comm_volume")}
    assert len(again) == 3
    assert tensor_all_reduces(1, passes=3) == 6  # ZeRO, section 8: with full recomputation


def test_tensor_traffic_bytes_of_a_step_of_llama_3_405b() -> None:
    size = tensor_all_reduce_size(1, 8192, 16384)
    sent = tensor_traffic_bytes(size, 126 / 16, 8, microbatches=16)
    assert sent == pytest.approx(236.8e9, rel=2e-4)
    assert sent / 450e9 == pytest.approx(0.526, abs=5e-4)
    assert tensor_all_reduces(126) == 504 == 4 * 126 / 16 * 16


@each(
    ("ranks", "query", "key_value", "copies"),
    [(1, 64, 8, 1), (4, 16, 2, 1), (8, 8, 1, 1), (16, 4, 1, 2), (64, 1, 1, 8)],
)
def test_heads_per_rank_of_64_and_8(ranks: int, query: int, key_value: int, copies: int) -> None:
    assert heads_per_rank(64, 8, ranks) == (query, key_value, copies)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 6))
def test_heads_per_rank_gives_every_query_its_key(shared: int, groups: int, ranks: int) -> None:
    queries, keys, parts = 2 ** (shared + groups), 2**shared, 2**ranks
    if parts > queries:
        return
    held = [
        {query * keys // queries for query in range(queries) if query * parts // queries == rank}
        for rank in range(parts)
    ]
    mine = heads_per_rank(queries, keys, parts)
    assert all(len(heads) == mine.key_value for heads in held)
    assert sum(0 in heads for heads in held) == mine.copies
    assert mine.query * parts == queries


def test_heads_per_rank_refuses_what_does_not_divide() -> None:
    with pytest.raises(ValueError, match=r"^ranks must divide the query heads, 64, not 3"):
        heads_per_rank(64, 8, 3)
    with pytest.raises(ValueError, match=r"^ranks must divide or be a multiple of the key-value heads, 6"):
        heads_per_rank(24, 6, 4)


@each("ranks", [1, 2, 4, 8])
def test_context_ring_bytes_are_those_of_blocks_on_their_way(ranks: int) -> None:
    batch, sequence, heads, width = 3, 64, 2, 5
    block = 2 * batch * (sequence // ranks) * heads * width
    passed = pass_blocks(ranks, block)
    assert set(passed.sent) == {context_ring_bytes(batch, sequence, heads, width, 2, ranks) / 2}


@each("ranks", [1, 2, 4, 8])
def test_context_gather_bytes_are_those_of_an_all_gather(ranks: int) -> None:
    batch, sequence, heads, width = 3, 64, 2, 5
    size = 2 * batch * sequence * heads * width * 2
    played = ring_all_gather(size, ranks, 1e9)
    mine = context_gather_bytes(batch, sequence, heads, width, 2, ranks)
    assert {mine} == {played.sent(rank) for rank in range(ranks)}
    assert mine == pytest.approx(context_ring_bytes(batch, sequence, heads, width, 2, ranks))


def test_context_ring_bytes_and_context_gather_bytes_are_the_tables_elements() -> None:
    table = {row.text("scheme"): row.text("elements_per_layer_forward") for row in rows("context_parallel_comm")}
    assert table["Ring attention"] == "2 b s/P g d (P-1) per rank"
    assert table["Llama 3 all-gather KV"] == "2 b s g d (P-1)/P"
    b, s, g, d, p = 1, 131_072, 8, 128, 16
    assert context_ring_bytes(b, s, g, d, 2, p) == 2 * (2 * b * s // p * g * d * (p - 1))


@given(st.integers(0, 6), st.integers(0, 4), st.integers(4, 14))
def test_context_ring_hides_when_no_rank_waits(groups: int, ranks: int, tokens: int) -> None:
    heads, shared, parts, c = 2**groups * 3, 3, 2**ranks + 1, 2**tokens
    rate, bandwidth, width = 400e12, 50e9, 128
    attend = 4 * c * c * heads * width / rate
    transfer = 2 * c * shared * width * 2 / bandwidth
    waited = pass_blocks(parts, 1, attend, transfer).waited
    assert context_ring_hides(c * parts, heads, shared, parts, rate, bandwidth) == (waited == 0)


def test_context_ring_hides_nothing_of_a_single_rank() -> None:
    # 64 tokens are far too few for two ranks, but one rank has nobody to send to
    assert not context_ring_hides(128, 8, 8, 2, 400e12, 50e9)
    assert context_ring_hides(64, 8, 8, 1, 400e12, 50e9)


@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_expert_all_to_all_bytes_are_the_mean_of_what_leaves_a_rank(per: int, tokens: int, k: int, seed: int) -> None:
    ranks = 4
    experts = per * ranks
    # every expert is chosen equally often: token t of rank r takes k experts from t on, in turn
    choices = [[[(t + j) % experts for j in range(k)] for t in range(tokens * experts)] for _ in range(ranks)]
    routed = route(choices, experts)
    sent = sum(routed.sent) / ranks
    assert expert_all_to_all_bytes(tokens * experts, 7, k, 2, ranks) == pytest.approx(sent * 7 * 2, rel=1e-12)


def test_expert_all_to_all_bytes_of_deepseek_v3_without_its_limit_on_nodes() -> None:
    token = expert_all_to_all_bytes(1, 7168, 4, 1, 10**6)
    assert token == pytest.approx(28.67e3, rel=1e-3)  # to four nodes, in FP8
    assert expert_all_to_all_bytes(1, 7168, 4, 2, 10**6) == pytest.approx(57.34e3, rel=1e-3)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 20), st.sampled_from([1.0, 1.25, 2.0]))
def test_expert_capacity_drops_nothing_of_equal_loads(experts: int, k: int, tokens: int, factor: float) -> None:
    k = min(k, experts)
    choices = [[[(t * k + j) % experts for j in range(k)] for t in range(tokens)]]
    room = expert_capacity(tokens, experts, k, factor)
    assert route(choices, experts, room).dropped == 0
    assert (room - 1) * experts < tokens * k * factor


def test_expert_capacity_of_a_known_batch() -> None:
    assert expert_capacity(4096, 64, 2) == 128
    assert expert_capacity(4096, 64, 2, 1.25) == 160
    assert expert_capacity(1000, 64, 1) == 16
    with pytest.raises(ValueError, match=r"^top_k must be at most the experts, 8, not 9"):
        expert_capacity(1000, 8, 9)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any))
def test_expert_imbalance_is_the_time_of_the_fullest_over_that_of_equal_loads(loads: list[int]) -> None:
    choices = [[[expert] for expert, load in enumerate(loads) for _ in range(load)]]
    routed = route(choices, len(loads))
    assert routed.loads == loads
    slowest, equal = max(routed.loads), sum(routed.loads) / len(routed.loads)
    assert expert_imbalance(loads) == pytest.approx(slowest / equal, rel=1e-12)


def test_expert_imbalance_at_its_limits() -> None:
    assert expert_imbalance([7, 7, 7]) == 1
    assert expert_imbalance([0, 0, 9]) == 3
    with pytest.raises(ValueError, match=r"^loads must not all be 0"):
        expert_imbalance([0, 0])


@each("row", rows("llama3_table4"), ids=lambda row: row.text("seq_len"))
def test_data_parallel_degree_is_that_of_llama_3s_table(row: Row) -> None:
    gpus, tensor, pipeline, context = (row.count(c) for c in ("gpus", "tp", "pp", "cp"))
    # the first version of the paper prints 4 in the last row; the product needs the 8 of the third
    assert data_parallel_degree(gpus, tensor, pipeline, context) == row.count("dp")


def test_data_parallel_degree_with_experts_and_with_leftovers() -> None:
    assert data_parallel_degree(2048, 1, 16, expert=64) == 128
    assert data_parallel_degree(cluster("Meta 24K H100").gpus, 8, 16) == 192
    with pytest.raises(ValueError, match=r"^pipeline must divide the GPUs that other degrees leave, 50 of 100, not 12"):
        data_parallel_degree(100, 2, 12)
    with pytest.raises(ValueError, match=r"^expert must divide the data and context parallel ranks, 128, not 48"):
        data_parallel_degree(2048, 1, 16, expert=48)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.integers(1, 64))
def test_data_parallel_degree_is_what_numbering_all_ranks_leaves(t: int, p: int, c: int, d: int) -> None:
    places = {(rank % t, rank // t % c, rank // (t * c) % p, rank // (t * c * p)) for rank in range(t * c * p * d)}
    assert data_parallel_degree(t * c * p * d, t, p, c) == len({place[3] for place in places})


def test_parallelism_order_is_llama_3s_and_that_of_how_often_each_talks() -> None:
    facts = {row.text("quantity"): row.text("value") for row in rows("llama3_misc")}
    names = {"TP": "tensor", "CP": "context", "PP": "pipeline", "DP": "data"}
    printed = facts["order of dims"].strip("[]").split(", ")
    assert parallelism_order() == tuple(names[short] for short in printed)
    messages = {"tensor": 4 * 8 * 16, "context": 2 * 8 * 16, "pipeline": 2 * 16, "data": 2}
    assert sorted(messages, key=messages.__getitem__, reverse=True) == list(parallelism_order())
