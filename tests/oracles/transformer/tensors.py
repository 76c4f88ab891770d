"""The weights of a model, as a framework allocates them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes of a model, named as in released configurations."""

    num_hidden_layers: int
    hidden_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    intermediate_size: int = 0
    gate: bool = True
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    all_biases: bool = False
    qk_norm: bool = False
    layer_norm: bool = False
    position_embeddings: int = 0
    n_routed_experts: int = 0
    n_shared_experts: int = 0
    moe_intermediate_size: int = 0
    first_k_dense: int = 0
    correction_bias: bool = False
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0


def elements(shapes: Iterable[Shape]) -> int:
    """The number of elements in tensors of these shapes."""
    return sum(prod(shape) for shape in shapes)


def tensors(plan: Plan) -> Iterator[Shape]:
    """The shape of every weight of the model."""
    yield plan.vocab_size, plan.hidden_size
    if plan.position_embeddings:
        yield plan.position_embeddings, plan.hidden_size
    for layer in range(plan.num_hidden_layers):
        yield from _norm(plan)
        yield from _latent(plan) if plan.kv_lora_rank else _attention(plan)
        yield from _norm(plan)
        if plan.n_routed_experts and layer >= plan.first_k_dense:
            yield from _mixture(plan)
        else:
            yield from _feed_forward(plan, plan.intermediate_size)
    yield from _norm(plan)
    if not plan.tie_word_embeddings:
        yield plan.vocab_size, plan.hidden_size


def _norm(plan: Plan) -> Iterator[Shape]:
    yield (plan.hidden_size,)
    if plan.layer_norm:
        yield (plan.hidden_size,)


def _attention(plan: Plan) -> Iterator[Shape]:
    for heads in (plan.num_attention_heads, plan.num_key_value_heads, plan.num_key_value_heads):
        yield heads * plan.head_dim, plan.hidden_size
        if plan.attention_bias or plan.all_biases:
            yield (heads * plan.head_dim,)
    yield plan.hidden_size, plan.num_attention_heads * plan.head_dim
    if plan.all_biases:
        yield (plan.hidden_size,)
    if plan.qk_norm:
        yield from ((plan.head_dim,), (plan.head_dim,))


def _latent(plan: Plan) -> Iterator[Shape]:
    heads = plan.num_attention_heads
    if plan.q_lora_rank:  # otherwise one matrix, as in DeepSeek-V2-Lite
        yield plan.q_lora_rank, plan.hidden_size
        yield (plan.q_lora_rank,)
    yield (heads * (plan.head_dim + plan.qk_rope_head_dim), plan.q_lora_rank or plan.hidden_size)
    yield plan.kv_lora_rank + plan.qk_rope_head_dim, plan.hidden_size
    yield (plan.kv_lora_rank,)
    yield heads * (plan.head_dim + plan.head_dim), plan.kv_lora_rank
    yield plan.hidden_size, heads * plan.head_dim


def _feed_forward(plan: Plan, width: int) -> Iterator[Shape]:
    if plan.gate:
        yield width, plan.hidden_size
    yield width, plan.hidden_size
    yield plan.hidden_size, width
    if plan.all_biases:
        yield from ((width,), (plan.hidden_size,))


def _mixture(plan: Plan) -> Iterator[Shape]:
    yield plan.n_routed_experts, plan.hidden_size
    if plan.correction_bias:
        yield (plan.n_routed_experts,)
    for _ in range(plan.n_routed_experts + plan.n_shared_experts):
        yield from _feed_forward(plan, plan.moe_intermediate_size)
