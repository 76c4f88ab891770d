import pytest

from app.core.formulas.transformer import (
    attention_share,
    layer_flops,
    packed_flops,
    sequence_where_attention_equals,
    token_flops,
)
from tests.each import each


@each("causal", [False, True])
@each("hidden", [4096, 8192])
def test_sequence_where_attention_equals_doubles_a_layer_without_scores(hidden: int, causal: bool) -> None:
    length = int(sequence_where_attention_equals(12 * hidden**2, hidden, causal))
    assert length == (12 if causal else 6) * hidden
    weights = 3 * 2 * 12 * hidden**2 * length  # three passes, two FLOP per parameter and token
    assert layer_flops(length, 1, hidden, causal) == pytest.approx(2 * weights, rel=1e-12)


def test_sequence_where_attention_equals_is_where_the_share_is_one_for_a_layer_of_llama() -> None:
    parameters = 855_654_400
    for causal in (False, True):
        length = sequence_where_attention_equals(parameters, 8192, causal)
        shares = [attention_share(parameters, 1, 64, 128, int(length) + more, causal) for more in (0, 1)]
        assert shares[0] <= 1 < shares[1]


def test_packed_flops_are_counted_pair_by_pair() -> None:
    parameters, layers, hidden, lengths = 1000, 3, 8, (5, 1, 9)
    exact = 0.0
    for length in lengths:
        for token in range(length):
            seen = token + 0.5  # all before it, and half of its own pair
            # 2 FLOP for the scores and 2 for the values, forward; twice that backward
            exact += 6 * parameters + 3 * layers * 2 * 2 * hidden * seen
    assert packed_flops(parameters, layers, hidden, lengths) == pytest.approx(exact, rel=1e-12)


def test_packed_flops_of_one_document_are_those_of_its_tokens() -> None:
    for length in (2048, 131072):
        each = token_flops(8030000000, 32, 32, 128, length, True)
        assert packed_flops(8030000000, 32, 4096, [length]) == pytest.approx(length * each)
    long = packed_flops(8030000000, 32, 4096, [131072])
    short = packed_flops(8030000000, 32, 4096, [4096] * 32)
    assert long / short == pytest.approx(2.943, abs=5e-4)


def test_packed_flops_without_documents_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^lengths must be a list of at least 1, not \[\]"):
        packed_flops(1000, 3, 8, [])
