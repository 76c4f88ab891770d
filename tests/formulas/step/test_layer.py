"""The products of a layer in their order, what is moved between them, and what is counted of them."""

from dataclasses import replace

from app.core.formulas.presets import ModelShape, model
from app.core.formulas.step.layer import Linear, Widths, counted_flops, one_by_one
from app.core.formulas.transformer import active_parameters
from tests.each import each

GPT, LLAMA, MIXED, QWEN = (model(name) for name in ("GPT-3", "Llama-3.1-8B", "DeepSeek-V3", "Qwen3-8B"))
LITE = model("Moonlight-16B-A3B")  # latent keys, and queries that are not


def sizes(linears: tuple[Linear, ...]) -> list[tuple[int, int]]:
    return [(linear.result.size, linear.taken.size) for linear in linears]


def splits(linears: tuple[Linear, ...]) -> list[str]:
    """Along which side tensor parallelism splits each product."""
    return ["result" if one.result.split else "taken" if one.taken.split else "no" for one in linears]


def test_the_products_of_a_layer_follow_one_another() -> None:
    wide, keys, inner = 4096, 8 * 128, 14_336
    attention = [(wide, wide), (keys, wide), (keys, wide), (wide, wide)]
    assert sizes(one_by_one(LLAMA, inner)) == [*attention, (inner, wide), (inner, wide), (wide, inner)]
    assert sizes(one_by_one(LLAMA, 0)) == attention
    wide = 12_288
    assert sizes(one_by_one(GPT, 4 * wide)) == [(wide, wide)] * 4 + [(4 * wide, wide), (wide, 4 * wide)]
    # Megatron: the first product of a block is split by its result, the second by what it takes.
    assert splits(one_by_one(GPT, 4 * wide)) == ["result", "result", "result", "taken", "result", "taken"]
    joined = Widths.of(LLAMA)
    assert sizes(joined.attention) == [(4096 + 2 * 1024, 4096), (4096, 4096)]
    assert sizes(joined.dense) == [(2 * 14_336, 4096), (4096, 14_336)]
    assert splits(joined.attention) == splits(joined.dense) == ["result", "taken"]
    assert (joined.shared, joined.expert) == ((), ())


def test_latent_attention_goes_down_and_up_again() -> None:
    heads = MIXED.heads
    turned, kept, spread, out = (heads * 192, 1536), (576, 7168), (heads * 256, 512), (7168, heads * 128)
    assert sizes(Widths.of(MIXED).attention) == [(1536, 7168), turned, kept, spread, out]
    assert splits(Widths.of(MIXED).attention) == ["no", "result", "no", "result", "taken"]
    assert Widths.of(MIXED).core == heads * (192 + 128)
    lite = Widths.of(LITE).attention
    assert sizes(lite) == [(16 * 192, 2048), (576, 2048), (16 * 256, 512), (2048, 16 * 128)]
    assert splits(lite) == ["result", "no", "result", "taken"]
    assert Widths.of(LLAMA).core == 32 * 2 * 128


def test_what_is_computed_again_is_every_second_product() -> None:
    wide, inner = 4096, 14_336
    assert sizes(Widths.of(LLAMA).again_dense) == [(1024, wide), (wide, wide), (inner, wide)]
    heads, shared = MIXED.heads, 2048
    turned, spread = (heads * 192, 1536), (heads * 256, 512)
    assert sizes(Widths.of(MIXED).again_mixture) == [turned, spread, (shared, 7168), (7168, shared)]


@each(
    ("shape", "forward", "backward", "split_forward", "split_backward"),
    [
        # By hand: norms and residuals; then queries, keys and values with and without biases.
        (GPT, 22 * 12_288, 46 * 12_288, (4 * 3 + 4) * 12_288, (2 * 3 + 4 * 3 + 4) * 12_288),
        (LLAMA, 20 * 4096, 32 * 4096, 4 * 4096, 4 * (4096 + 2 * 1024) + 4 * 4096),
        (QWEN, 20 * 4096, 32 * 4096, 4 * 4096 + 4 * 5120, 4 * 6144 + 4 * 4096 + 10 * 5120),
    ],
    ids=lambda value: value.name if isinstance(value, ModelShape) else str(value),
)
def test_what_is_read_and_written_between_products(
    shape: ModelShape, forward: int, backward: int, split_forward: int, split_backward: int
) -> None:
    assert tuple(Widths.of(shape).around) == (forward, backward, split_forward, split_backward)


def test_a_gate_is_read_and_written_with_the_activation() -> None:
    inside, plain = Widths.of(LLAMA).inside_dense, Widths.of(GPT).inside_dense
    assert (inside.split_forward, inside.split_backward) == (6 * 14_336, 10 * 14_336)
    assert (plain.split_forward, plain.split_backward) == (4 * 4 * 12_288, 8 * 4 * 12_288)
    bare = Widths.of(replace(GPT, biases="none")).inside_dense
    assert bare.split_backward == 6 * 4 * 12_288
    assert sum(inside) == 16 * 14_336, "all of it is split"


@each("shape", [LLAMA, MIXED], ids=lambda shape: shape.name)
def test_a_further_token_is_counted_as_a_layer_and_the_head_again(shape: ModelShape) -> None:
    one = replace(shape, multi_token=1)
    head = 6 * shape.vocabulary * shape.hidden
    layer = counted_flops(replace(shape, layers=shape.layers + 1), 4096) - counted_flops(shape, 4096)
    module = 6 * (active_parameters(one) - active_parameters(shape))
    more = active_parameters(replace(shape, layers=shape.layers + 1)) - active_parameters(shape)
    assert counted_flops(one, 4096) - counted_flops(shape, 4096) == head + module + layer - 6 * more
    longer = counted_flops(shape, 8192) - counted_flops(shape, 4096)
    # Two products of queries, keys and values over half of the longer sequence, three times with the backward pass.
    width = shape.heads * (2 * shape.head_size + (shape.rope if shape.latent else 0))
    assert longer == 3 * 2 * (4096 / 2) * width * shape.layers
