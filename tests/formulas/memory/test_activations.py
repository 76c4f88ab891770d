from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.expressions import Quantity, evaluate
from app.core.formulas import memory
from app.core.formulas.checks import AttentionKernels, Recompute
from app.core.formulas.presets import Layout, ModelShape
from tests.each import each
from tests.oracles import memory as simulated
from tests.tables import Row, rows

Shape = tuple[int, int, int, int]
GPT_3: Shape = (2048, 1, 12288, 96)
MT_NLG: Shape = (2048, 1, 20480, 128)
SMALL: Shape = (96, 3, 80, 8)

TABLE_2: dict[str, tuple[bool, Recompute]] = {
    "no parallelism": (False, "none"),
    "tensor parallel": (False, "none"),
    "tensor + sequence parallel": (True, "none"),
    "tensor parallel + selective": (False, "selective"),
    "tensor + sequence + selective": (True, "selective"),
    "full recomputation": (False, "full"),
}
ROWS = {row.text("configuration"): row.text("bytes_per_layer") for row in rows("korthikanti_table2")}


@each("configuration", TABLE_2)
@each("shape", [GPT_3, MT_NLG, SMALL])
def test_layer_activation_bytes_are_those_of_table_2_of_korthikanti(configuration: str, shape: Shape) -> None:
    sequence_parallel, recompute = TABLE_2[configuration]
    tensor_ranks = 1 if configuration == "no parallelism" else 8
    names = dict(zip("sbha", map(Quantity, shape), strict=True)) | {"t": Quantity(tensor_ranks)}
    printed = evaluate(ROWS[configuration], names).value
    assert memory.layer_activation_bytes(*shape, tensor_ranks, sequence_parallel, recompute) == (
        pytest.approx(printed, rel=1e-12)
    )


@each("recompute", ["none", "selective", "full"])
@each("sequence_parallel", [False, True])
@each("tensor_ranks", [1, 2, 8])
def test_layer_activation_bytes_are_those_of_the_tensors_stored_one_by_one(
    tensor_ranks: int, sequence_parallel: bool, recompute: Recompute
) -> None:
    tensors = simulated.stored_tensors(*SMALL, tensor_ranks, sequence_parallel)
    assert memory.layer_activation_bytes(*SMALL, tensor_ranks, sequence_parallel, recompute) == (
        pytest.approx(simulated.stored_bytes(tensors, recompute), rel=1e-12)
    )


WIDE: Shape = (1024, 2, 4096, 32)
KERNELS: tuple[AttentionKernels, ...] = ("fused", "unfused")


def allocated(tensor_ranks: int, sequence_parallel: bool, recompute: Recompute, kernels: AttentionKernels) -> float:
    """What the engine of `predict` and `search` adds for one more layer, in bytes."""
    sequence, batch, hidden, heads = WIDE
    layout = Layout(
        tensor=tensor_ranks,
        sequence_parallel=sequence_parallel,
        recompute=recompute,
        micro_batch=batch,
        sequence=sequence,
    )
    model = ModelShape(
        layers=4,
        hidden=hidden,
        heads=heads,
        key_value_heads=heads,
        head_size=hidden // heads,
        feed_forward=4 * hidden,
        vocabulary=1024,
        gated=False,
        norm="layer",
    )
    four, five = (
        memory.memory_budget(replace(model, layers=layers), layout, kernels=kernels).activations for layers in (4, 5)
    )
    return five - four


@each("kernels", KERNELS)
@each("recompute", ["none", "selective", "full"])
@each("sequence_parallel", [False, True])
@each("tensor_ranks", [1, 2, 8])
def test_layer_activation_bytes_are_what_the_engine_allocates_but_for_dropout(
    tensor_ranks: int, sequence_parallel: bool, recompute: Recompute, kernels: AttentionKernels
) -> None:
    """The engine has no dropout: two masks of a byte less per element, and 4 bytes per score for 5."""
    sequence, batch, hidden, heads = WIDE
    again: Recompute = "selective" if kernels == "fused" and recompute == "none" else recompute
    elements = sequence * batch * hidden
    masks = 0 if recompute == "full" else 2 * elements / (tensor_ranks if sequence_parallel else 1)
    scores = heads * sequence**2 * batch / tensor_ranks if again == "none" else 0
    known = memory.layer_activation_bytes(*WIDE, tensor_ranks, sequence_parallel, again) - masks - scores
    assert allocated(tensor_ranks, sequence_parallel, recompute, kernels) == pytest.approx(known, rel=5e-3)


@each(("shape", "saved"), [(GPT_3, "70%"), (MT_NLG, "65%")])
def test_selective_recomputation_saves_what_the_paper_says(shape: Shape, saved: str) -> None:
    everything = memory.layer_activation_bytes(*shape, 8, sequence_parallel=True)
    left = memory.layer_activation_bytes(*shape, 8, sequence_parallel=True, recompute="selective")
    assert f"{1 - left / everything:.0%}" == saved


def configuration(name: str) -> Row:
    """The row of tables 3 and 5 of Korthikanti et al. for the model *name*."""
    return next(row for row in rows("korthikanti_table3_5") if row.text("model") == name)


def test_activation_bytes_of_an_input_per_stage_are_the_2_73_gibibytes_of_appendix_b() -> None:
    """The paper prints GiB and calls them GB."""
    model = configuration("530B")
    inputs = memory.activation_bytes(
        1, 2048, 1, model.count("hidden"), model.count("heads"), recompute="full", in_flight=model.count("pp")
    )
    printed = rows("korthikanti_misc")[0].text("value")
    assert printed.startswith(f'{inputs / 2**30:.2f} "GB"')
    assert f"{inputs / 1e9:.3f} GB decimal" in printed


@each("name", ["22B", "175B", "530B", "1T"])
def test_the_first_stage_of_one_forward_one_backward_keeps_as_much_as_the_whole_model(name: str) -> None:
    """Section 4.2.3: with as many micro-batches in flight as stages, all the layers' worth."""
    model = configuration(name)
    shape = (2048, 1, model.count("hidden"), model.count("heads"), model.count("tp"))
    stages = model.count("pp")
    first = memory.activation_bytes(model.count("layers"), *shape, stages=stages, in_flight=stages)
    assert first == model.count("layers") * memory.layer_activation_bytes(*shape)


def test_the_fullest_stage_counts_where_layers_do_not_divide() -> None:
    one = memory.layer_activation_bytes(*SMALL)
    assert memory.activation_bytes(126, *SMALL, stages=16) == 8 * one


def test_more_stages_than_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="stages must be at most the layers, 4, not 5"):
        memory.activation_bytes(4, *SMALL, stages=5)


def test_tensor_ranks_that_do_not_divide_the_heads_are_refused() -> None:
    with pytest.raises(ValueError, match="tensor_ranks must divide the heads, 8, not 3"):
        memory.layer_activation_bytes(*SMALL, tensor_ranks=3)


def test_sequence_parallel_ranks_must_divide_the_sequence() -> None:
    with pytest.raises(ValueError, match="tensor_ranks must divide the tokens of a sequence, 9"):
        memory.layer_activation_bytes(9, 1, 64, 8, tensor_ranks=2, sequence_parallel=True)


@given(st.integers(1, 10**6), st.integers(1, 1000), st.integers(1, 10**5), st.integers(1, 1000))
def test_the_more_is_recomputed_the_less_is_kept(sequence: int, batch: int, hidden: int, heads: int) -> None:
    kept = [
        memory.layer_activation_bytes(sequence, batch, hidden, heads, recompute=recompute)
        for recompute in ("none", "selective", "full")
    ]
    assert kept == sorted(kept, reverse=True)


def test_checkpointing_overhead_is_one_of_three_forward_passes() -> None:
    """One pass forward and two passes' worth backward, then one more forward."""
    plain = ["forward", "input gradient", "weight gradient"]
    recomputing = ["forward", "forward", "input gradient", "weight gradient"]
    longer = len(recomputing) / len(plain) - 1
    assert memory.checkpointing_overhead() == pytest.approx(longer)
