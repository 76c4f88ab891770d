"""Parameters and computation of a transformer.

A multiply-add is two FLOP. Training costs as much as three forward passes: one forward pass, and a
backward pass of twice its cost.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, get_args

from app.core.formulas import checks
from app.core.formulas.presets import ModelShape
from app.core.translation import noted
from app.core.units import Bytes, Count, Flops, Ratio


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
    wide, queries = checks.whole("hidden", hidden), checks.whole("heads", heads)
    shared = checks.whole("key_value_heads", key_value_heads)
    checks.divides("key_value_heads", shared, noted("heads"), queries)
    if head_size is None:
        checks.divides("heads", queries, noted("hidden size of the model"), wide)
        return 2 * wide * wide + 2 * wide * shared * (wide // queries)
    return 2 * wide * checks.whole("head_size", head_size) * (queries + shared)


def feed_forward_parameters(hidden: Count, feed_forward: Count, gated: bool = True) -> Count:
    """Parameters of a layer's feed-forward network.

    One matrix up and one down; a gated network, such as SwiGLU, has a second matrix up. U is without a gate, G with it.

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
    checks.one_of("gated", gated, (False, True))
    return (3 if gated else 2) * checks.whole("hidden", hidden) * checks.whole("feed_forward", feed_forward)


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
    checks.recorded("shape", shape, ModelShape)
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
        DeepSeek-V3 Technical Report, arXiv:2412.19437, section 4.2; Qwen3 Technical Report, arXiv:2505.09388.
    """
    checks.recorded("shape", shape, ModelShape)
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
        heads, head = shape.heads, shape.head_size
        queries = shape.hidden * shape.query_latent + shape.query_latent
        queries += (shape.query_latent or shape.hidden) * heads * (head + shape.rope)
        keys = shape.hidden * (shape.latent + shape.rope) + shape.latent
        keys += shape.latent * heads * 2 * head
        return queries + keys + heads * head * shape.hidden
    queries, shared = shape.heads * shape.head_size, shape.key_value_heads * shape.head_size
    weights = 2 * shape.hidden * (queries + shared)
    biases = 0 if shape.biases == "none" else queries + 2 * shared
    biases += shape.hidden if shape.biases == "all" else 0
    return weights + biases + (2 * shape.head_size if shape.query_key_norm else 0)


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
    wide = checks.whole("key_value_heads", key_value_heads) * checks.whole("head_size", head_size)
    each = 2.0 * checks.whole("layers", layers) * wide * checks.positive("element_bytes", element_bytes)
    return checks.at_least("tokens", tokens, 0) * each


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
    wide = checks.whole("latent", latent) + checks.whole("rope", rope, 0)
    each = 1.0 * checks.whole("layers", layers) * wide * checks.positive("element_bytes", element_bytes)
    return checks.at_least("tokens", tokens, 0) * each


def layer_flops(
    sequence: Count, batch: Count, hidden: Count, causal: bool = False, recompute: checks.Recompute = "none"
) -> Flops:
    """Computation of one transformer layer, forward and backward.

    Products with the 12 h² weights cost 24 h² per token; attention scores and their products with
    the values cost 4 s h, which a causal mask can halve: A is without a mask, C with it. The
    backward pass costs twice as much as the forward pass F, so both cost 3 F. Selective
    recomputation adds the attention once more, full recomputation a whole forward pass: 4 F.

        W = 24 batch * sequence * hidden^2
        A = 4 batch * sequence^2 * hidden
        C = A / 2

    Convention:
        For a layer of 12 h² parameters: a feed-forward of four times the hidden size, no gate, no
        grouped heads. The papers of Megatron and FlashAttention do not halve attention for causal
        masks; Megatron's code now does. With recomputation, the result is hardware FLOP, for HFU
        and not for MFU.

    Args:
        sequence: tokens of one sequence.
        batch: number of sequences.
        hidden: hidden size of the layer.
        causal: whether to count only the half of the scores that a causal mask keeps.
        recompute: none, selective (attention scores) or full (everything).

    Source:
        Narayanan et al., arXiv:2104.04473, appendix; Korthikanti et al., arXiv:2205.05198, appendix A.
    """
    checks.one_of("causal", causal, (False, True))
    checks.one_of("recompute", recompute, get_args(checks.Recompute))
    tokens, wide = (checks.whole("batch", batch) * checks.whole("sequence", sequence), checks.whole("hidden", hidden))
    weights = 24.0 * tokens * wide**2
    attention = (2.0 if causal else 4.0) * tokens * sequence * wide
    passes, again = {"none": (3, 0), "selective": (3, 1), "full": (4, 0)}[recompute]
    return passes * (weights + attention) + again * attention


def step_flops(
    batch: Count, sequence: Count, layers: Count, hidden: Count, vocabulary: Count, recompute: checks.Recompute = "none"
) -> Flops:
    """Computation of a training step of a whole model.

    The layers, and the products with the output head (V), which are not recomputed. N is without
    recomputation, S with selective and R with full recomputation.

        B = 72 FLOP * batch * sequence * layers * hidden^2
        V = vocabulary / (12 hidden * layers)
        N = B * (1 + sequence / (6 hidden) + V)
        S = B * (1 + sequence / (3 hidden) + V)
        R = B * 4 / 3 * (1 + sequence / (6 hidden) + vocabulary / (16 hidden * layers))

    Convention:
        N is model FLOP, for MFU; S and R are hardware FLOP, for HFU. Megatron's table of 2021 is R,
        so its percentage of peak is not an MFU. S counts the attention again forward and, as in
        the paper, also backward. Attention is not halved for the causal mask.

    Args:
        batch: sequences per step.
        sequence: tokens of one sequence.
        layers: layers of the model.
        hidden: hidden size of the model.
        vocabulary: entries of the vocabulary.
        recompute: none, selective (attention scores) or full (every layer).

    Source:
        Narayanan et al., arXiv:2104.04473, equation 3; Korthikanti et al., arXiv:2205.05198, equations 7 and 8.
    """
    checks.one_of("recompute", recompute, get_args(checks.Recompute))
    deep, wide = checks.whole("layers", layers), checks.whole("hidden", hidden)
    words, length = checks.whole("vocabulary", vocabulary), checks.whole("sequence", sequence)
    base = 72.0 * checks.whole("batch", batch) * length * deep * wide**2
    head = words / (12.0 * wide * deep)
    if recompute == "full":
        return base * 4 / 3 * (1 + length / (6.0 * wide) + words / (16.0 * wide * deep))
    attention = length / ((3.0 if recompute == "selective" else 6.0) * wide)
    return base * (1 + attention + head)


def token_flops(
    parameters: Count,
    layers: Count,
    heads: Count,
    head_size: Count,
    sequence: Count,
    causal: bool = False,
    embedding: Count = 0,
    rope: Count = 0,
) -> Flops:
    """Computation of training per token, including attention.

    Six FLOP per parameter: two forward, four backward. In each layer, a token's query is multiplied with the keys, W
    elements wide, and the scores with the values of the sequence: 12 a d s in total if both are as wide as a head, half
    of that with a causal mask. T is without a mask, C with it.

        N = parameters - embedding
        W = head_size + rope
        C = (6 N + 3 layers * heads * (W + head_size) * sequence) * 1 FLOP
        T = (6 N + 6 layers * heads * (W + head_size) * sequence) * 1 FLOP

    Convention:
        PaLM, which defined MFU with this count, and the FlashAttention papers do not halve it. For
        a mixture of experts, use the active parameters. The input embedding is looked up, not
        multiplied: frameworks that print FLOP leave it out, 6 N D counts it.

    Args:
        parameters: parameters that process a token.
        layers: layers of the model.
        heads: query heads.
        head_size: size of a head.
        sequence: tokens of one sequence.
        causal: whether to count only the half of the scores that a causal mask keeps.
        embedding: those of the parameters that are the input embedding, to leave them out.
        rope: more elements of a query and key, with latent attention.

    Source:
        Chowdhery et al., PaLM, arXiv:2204.02311, appendix B; DeepSeek-V2, arXiv:2405.04434,
        section 2.1 (query and key of latent attention).
    """
    checks.one_of("causal", causal, (False, True))
    wide = checks.whole("heads", heads) * (2 * checks.whole("head_size", head_size) + checks.whole("rope", rope, 0))
    scores = 1.0 * checks.whole("layers", layers) * wide * checks.whole("sequence", sequence)
    multiplied = checks.whole("parameters", parameters) - checks.whole("embedding", embedding, 0)
    if multiplied < 0:
        raise checks.larger_than("embedding", embedding, noted("the parameters"), parameters)
    return 6.0 * multiplied + (3 if causal else 6) * scores


def attention_share(
    parameters: Count, layers: Count, heads: Count, head_size: Count, sequence: Count, causal: bool = False
) -> Ratio:
    """Computation for attention scores, relative to the six FLOP per parameter.

    The part that 6 N D does not count. T is without a causal mask, C with it.

        C = layers * heads * head_size * sequence / parameters
        T = 2 layers * heads * head_size * sequence / parameters

    Convention:
        Relative to 6 N D, not a share of the total. For Llama 3.1 405B, causal: 4.2 % at 8,192
        tokens and 66.7 % at 131,072.

    Args:
        parameters: parameters that process a token.
        layers: layers of the model.
        heads: query heads.
        head_size: size of a head.
        sequence: tokens of one sequence.
        causal: whether to count only the half of the scores that a causal mask keeps.

    Source:
        Kaplan et al., arXiv:2001.08361, section 2.1; Chowdhery et al., arXiv:2204.02311, appendix B.
    """
    checks.one_of("causal", causal, (False, True))
    wide = checks.whole("heads", heads) * checks.whole("head_size", head_size)
    scores = 1.0 * checks.whole("layers", layers) * wide * checks.whole("sequence", sequence)
    return (1 if causal else 2) * scores / checks.whole("parameters", parameters)


def sequence_where_attention_equals(parameters_per_layer: Count, hidden: Count, causal: bool = False) -> Ratio:
    """Tokens of a sequence at which attention scores cost as much as a layer's weights.

    Per token, weights cost two FLOP per parameter. Scores and their products with the values cost
    4 s h, half of that with a causal mask: T is without a mask, C with it.

        C = parameters_per_layer / hidden
        T = parameters_per_layer / (2 hidden)

    Convention:
        Not rounded. For a layer of 12 h² parameters, 6 h without a mask and 12 h with one; the same
        forward and backward.

    Args:
        parameters_per_layer: parameters of a layer that process a token.
        hidden: size of all query heads together.
        causal: whether to count only the half of the scores that a causal mask keeps.

    Source:
        Narayanan et al., arXiv:2104.04473, appendix (both costs); solved for the length.
    """
    checks.one_of("causal", causal, (False, True))
    each = checks.whole("parameters_per_layer", parameters_per_layer) / checks.whole("hidden", hidden)
    return each if causal else each / 2


def packed_flops(parameters: Count, layers: Count, hidden: Count, lengths: Sequence[Count]) -> Flops:
    """Computation of training on documents that are packed together but do not see each other.

    Six FLOP per parameter and token. A token's causal scores cost 6 layers * hidden FLOP for each token of its
    document, so they grow with the squares of the lengths: T is the sum of the lengths, Q that of their squares.

        F = (6 parameters * T + 6 layers * hidden * Q) * 1 FLOP

    Convention:
        Forward and backward, with a causal mask that keeps half of the scores, and with a mask of
        documents. Two packs of as many tokens may differ much.

    Args:
        parameters: parameters that process a token.
        layers: layers of the model.
        hidden: size of all query heads together.
        lengths: tokens of each document.

    Raises:
        ValueError: an argument is outside its domain, or there are no lengths.

    Source:
        Chowdhery et al., arXiv:2204.02311, appendix B, halved for the mask; Wang et al., WLB-LLM,
        arXiv:2503.17924 (imbalance of packed documents).
    """
    long = [1.0 * checks.whole("lengths", one) for one in checks.several("lengths", lengths)]
    scores = checks.whole("layers", layers) * checks.whole("hidden", hidden) * math.fsum(s * s for s in long)
    return 6.0 * checks.whole("parameters", parameters) * math.fsum(long) + 6 * scores


_PETAFLOP_DAY = 1e15 * 86400


class Optimum(NamedTuple):
    """The best number of parameters and training tokens for a budget."""

    parameters: Ratio
    tokens: Ratio


def training_flops(parameters: Count, tokens: Ratio) -> Flops:
    """Computation of a training run.

    One multiplication and one addition per parameter and token forward, and twice that backward.

        C = 6 * parameters * tokens * 1 FLOP

    Convention:
        Attention scores are not counted: see attention_share. For a mixture of experts, use the
        active parameters. The result is model FLOP: recomputation is not included.

    Args:
        parameters: parameters that process a token.
        tokens: tokens of training.

    Source:
        Kaplan et al., Scaling Laws for Neural Language Models, arXiv:2001.08361, section 2.1.
    """
    return 6.0 * checks.whole("parameters", parameters) * checks.at_least("tokens", tokens, 0)


def petaflop_days(flops: Flops) -> Ratio:
    """Days that the computation would take at one petaFLOP per second.

    A day has 86,400 seconds, so a petaFLOP/s-day is 8.64e19 FLOP.

        D = flops / 1 PF-days

    Convention:
        A measure of work, not of time: it does not depend on utilization.

    Args:
        flops: computation.

    Source:
        Brown et al., GPT-3, arXiv:2005.14165, table D.1.
    """
    return checks.positive("flops", flops) / _PETAFLOP_DAY


def compute_optimal(flops: Flops, tokens_per_parameter: Ratio = 20) -> Optimum:
    """Best parameters and tokens for a budget that is spent on training alone.

    The best number of tokens is proportional to the best number of parameters, so 6 N D with D = k N is solved for N.

        N = sqrt(flops / (6 FLOP * tokens_per_parameter))
        D = tokens_per_parameter * N

    Convention:
        About 20 tokens per parameter is the rule of Chinchilla's first approach. It ignores the
        cost of serving, for which models are trained far longer.

    Args:
        flops: computation of training.
        tokens_per_parameter: best number of tokens per parameter.

    Source:
        Hoffmann et al., Training Compute-Optimal Large Language Models, arXiv:2203.15556, table 3.
    """
    each = checks.positive("tokens_per_parameter", tokens_per_parameter)
    parameters = math.sqrt(checks.positive("flops", flops) / (6 * each))
    return Optimum(parameters, each * parameters)
