"""Parameters of a layer and of a whole model, counted exactly, and the key-value cache."""

from typing import NamedTuple

from app.core.formulas.checks import at_least, divides, one_of, positive, recorded, whole
from app.core.formulas.presets import ModelShape
from app.core.translation import noted
from app.core.units import Bytes, Count, Ratio


def attention_parameters(hidden: Count, heads: Count, key_value_heads: Count, head_size: Count | None = None) -> Count:
    """Parameters of a layer's attention.

    Projections to queries and from the heads' output, d elements per head, and projections to keys
    and values, which several query heads may share.

        P = 2 hidden * heads * d + 2 hidden * key_value_heads * d

    Convention:
        Without biases and norms. The common 4 h² assumes as many key-value heads as query
        heads: for Llama 3.1 405B, with 8 and 128, it would be 1.9 times too large.

    Args:
        hidden: hidden size of the model.
        heads: query heads.
        key_value_heads: key-value heads; must divide the heads.
        head_size: size of a head, d; by default hidden / heads.

    Source:
        Ainslie et al., GQA, arXiv:2305.13245; Grattafiori et al., arXiv:2407.21783, table 3.
    """
    wide, queries = whole("hidden", hidden), whole("heads", heads)
    shared = whole("key_value_heads", key_value_heads)
    divides("key_value_heads", shared, noted("heads"), queries)
    if head_size is None:
        divides("heads", queries, noted("hidden size of the model"), wide)
        return 2 * wide * wide + 2 * wide * shared * (wide // queries)
    return 2 * wide * whole("head_size", head_size) * (queries + shared)


def feed_forward_parameters(hidden: Count, feed_forward: Count, gated: bool = True) -> Count:
    """Parameters of a layer's feed-forward network.

    One matrix up and one down; a gated network, such as SwiGLU, has a second matrix up. U is
    without a gate, G with it.

        G = 3 hidden * feed_forward
        U = 2 hidden * feed_forward

    Convention:
        Without biases. The 8 h² of older papers is U at an inner size of 4 h.

    Args:
        hidden: hidden size of the model.
        feed_forward: inner size of the feed-forward network.
        gated: whether it has a gate.

    Source:
        Shazeer, GLU Variants Improve Transformer, arXiv:2002.05202.
    """
    one_of("gated", gated, (False, True))
    return (3 if gated else 2) * whole("hidden", hidden) * whole("feed_forward", feed_forward)


def layer_parameters(
    hidden: Count,
    heads: Count,
    key_value_heads: Count,
    feed_forward: Count,
    gated: bool = True,
    head_size: Count | None = None,
) -> Count:
    """Parameters of one dense transformer layer.

    Attention, feed-forward and two norms with one gain per element. A and F are the parameters of
    attention and feed-forward.

        L = A + F + 2 hidden

    Convention:
        Without biases; norms are RMSNorm. A layer of Llama 3.1 405B, with 8 key-value heads,
        has 3.188 billion parameters.

    Args:
        hidden: hidden size of the model.
        heads: query heads.
        key_value_heads: key-value heads; must divide the heads.
        feed_forward: inner size of the feed-forward network.
        gated: whether the feed-forward network has a gate.
        head_size: size of a head; by default hidden / heads.

    Source:
        Grattafiori et al., arXiv:2407.21783, table 3.
    """
    attention = attention_parameters(hidden, heads, key_value_heads, head_size)
    return attention + feed_forward_parameters(hidden, feed_forward, gated) + 2 * int(hidden)


def model_parameters(shape: ModelShape) -> Count:
    """Parameters of a whole model.

    The layers, with L parameters each on average, the last norm, and E embedding tables: one if
    the embedding is tied to the output head, otherwise two. Each of K modules that predict a
    further token has a layer, a projection of 2 h² and three norms, and no table of its own.

        P = layers * L + hidden + E * vocabulary * hidden + K * (L + 2 hidden^2 + 3 hidden)

    Convention:
        All parameters, embeddings included, as in the released weights. The vocabulary is that of
        the weights: 128,256 for Llama 3, whose paper says 128,000.

    Args:
        shape: the model.

    Raises:
        ValueError: *shape* is not a model shape.

    Source:
        Counted from the released weights; Grattafiori et al., arXiv:2407.21783, table 3;
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2.
    """
    recorded("shape", shape, ModelShape)
    return _model(shape, shape.experts)


def active_parameters(shape: ModelShape) -> Count:
    """Parameters of a model that process one token.

    Of the experts, only those that a token is sent to; all other parameters process every token. N
    are the parameters of the model, X those of one expert, M the layers with experts.

        P = N - M * (experts - active_experts) * X

    Convention:
        With embeddings and the router. Reports often leave out the embeddings: DeepSeek-V3's 37
        billion are 37.55 billion with them.

    Args:
        shape: the model.

    Raises:
        ValueError: *shape* is not a model shape.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; Qwen3 Technical Report,
        arXiv:2505.09388.
    """
    recorded("shape", shape, ModelShape)
    return _model(shape, shape.active_experts)


class LayerParts(NamedTuple):
    """Parameters of a layer by how parallelism splits them; *expert* is a single expert."""

    attention: int
    norms: int
    feed_forward: int
    router: int
    shared: int
    expert: int

    @classmethod
    def of(cls, shape: ModelShape) -> "LayerParts":
        """The parts of a layer of *shape*; *feed_forward* is that of a dense layer."""
        expert = _feed_forward(shape, shape.expert_feed_forward)
        router = shape.hidden * shape.experts + (shape.experts if shape.router_bias else 0)
        norms = 2 * shape.hidden * (1 if shape.norm == "rms" else 2)
        dense = _feed_forward(shape, shape.feed_forward)
        return cls(_attention(shape), norms, dense, router, shape.shared * expert, expert)


def _model(shape: ModelShape, experts: int) -> int:
    parts, mixtures, norm = (LayerParts.of(shape), shape.expert_layers, LayerParts.of(shape).norms // 2)
    mixed = parts.router + parts.shared + experts * parts.expert
    further = parts.attention + parts.norms + (mixed if mixtures else parts.feed_forward)
    further += 2 * shape.hidden**2 + 3 * norm
    embeddings = shape.vocabulary * (1 if shape.tied else 2) + shape.positions
    return (
        shape.layers * (parts.attention + parts.norms)
        + (shape.layers - mixtures) * parts.feed_forward
        + mixtures * mixed
        + norm
        + embeddings * shape.hidden
        + shape.multi_token * further
    )


def _attention(shape: ModelShape) -> int:
    if shape.latent:
        return _latent_attention(shape)
    queries, shared = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    weights = 2 * shape.hidden * (queries + shared)
    biases = 0 if shape.biases == "none" else queries + 2 * shared
    biases += shape.hidden if shape.biases == "all" else 0
    return weights + biases + (2 * shape.head_size if shape.query_key_norm else 0)


def _latent_attention(shape: ModelShape) -> int:
    heads, head = shape.heads, shape.head_size
    queries = shape.hidden * shape.query_latent + shape.query_latent
    queries += (shape.query_latent or shape.hidden) * heads * (head + shape.rope)
    keys = shape.hidden * (shape.latent + shape.rope) + shape.latent
    keys += shape.latent * heads * 2 * head
    return queries + keys + heads * head * shape.hidden


def _feed_forward(shape: ModelShape, width: int) -> int:
    if not width:
        return 0
    weights = feed_forward_parameters(shape.hidden, width, shape.gated)
    return weights + (width + shape.hidden if shape.biases == "all" else 0)


def key_value_cache_bytes(
    tokens: Ratio, layers: Count, key_value_heads: Count, head_size: Count, element_bytes: Bytes = 2
) -> Bytes:
    """Bytes of the keys and values of a number of tokens.

    One key and one value per head, in every layer.

        M = 2 tokens * layers * key_value_heads * head_size * element_bytes

    Convention:
        With the key-value heads, not the query heads: grouped-query attention has 8 for 128
        query heads in Llama 3.1 405B, 16 times fewer.

    Args:
        tokens: tokens of all sequences.
        layers: layers of the model.
        key_value_heads: key-value heads.
        head_size: size of a head.
        element_bytes: bytes of one number.

    Source:
        Shazeer, Fast Transformer Decoding, arXiv:1911.02150; Ainslie et al., arXiv:2305.13245.
    """
    wide = whole("key_value_heads", key_value_heads) * whole("head_size", head_size)
    each = 2.0 * whole("layers", layers) * wide * positive("element_bytes", element_bytes)
    return at_least("tokens", tokens, 0) * each


def latent_cache_bytes(tokens: Ratio, layers: Count, latent: Count, rope: Count, element_bytes: Bytes = 2) -> Bytes:
    """Bytes of the cache of multi-head latent attention for a number of tokens.

    One compressed vector, from which the keys and values of all heads are computed, and a part of
    the key that encodes the position.

        M = tokens * layers * (latent + rope) * element_bytes

    Convention:
        No factor of two and no heads: keys and values come from the same vector. DeepSeek-V3 stores
        512 + 64 numbers in each of 61 layers, 57 times fewer than 128 full heads.

    Args:
        tokens: tokens of all sequences.
        layers: layers of the model.
        latent: size of the compressed vector.
        rope: size of the key's part for the position.
        element_bytes: bytes of one number.

    Source:
        DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 2.1.1 and 4.2.
    """
    wide = whole("latent", latent) + whole("rope", rope, 0)
    each = 1.0 * whole("layers", layers) * wide * positive("element_bytes", element_bytes)
    return at_least("tokens", tokens, 0) * each
