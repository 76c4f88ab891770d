"""The shard of a matrix, and the attention heads, of a rank."""

from typing import NamedTuple

from app.core.formulas.checks import divides, whole
from app.core.translation import noted, say
from app.core.units import Count


class Shard(NamedTuple):
    """A rank's shard of a matrix."""

    rows: Count
    columns: Count


class Heads(NamedTuple):
    """A rank's heads, and how many ranks hold the same key-value head."""

    query: Count
    key_value: Count
    copies: Count


def column_shard(rows: Count, columns: Count, ranks: Count) -> Shard:
    """Shape of a rank's shard of a weight matrix that is split by columns.

    Each rank computes some columns of the result from the whole input; side by side they are the
    result, and nothing has to be summed.

        R = rows
        C = columns / ranks

    Convention:
        For a product X A, where A has *rows* rows and *columns* columns. PyTorch stores the weight
        of a Linear layer transposed.

    Args:
        rows: rows of the whole matrix.
        columns: columns of the whole matrix.
        ranks: ranks of tensor parallelism; must divide the columns.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    wide, parts = whole("columns", columns), whole("ranks", ranks)
    divides("ranks", parts, noted("columns"), wide)
    return Shard(whole("rows", rows), wide // parts)


def row_shard(rows: Count, columns: Count, ranks: Count) -> Shard:
    """Shape of a rank's shard of a weight matrix that is split by rows.

    Each rank has some columns of the input and computes a partial sum of the whole result; an
    all-reduce adds the partial sums.

        R = rows / ranks
        C = columns

    Convention:
        For a product X A, where A has *rows* rows and *columns* columns. After a column split, no
        communication is needed in between.

    Args:
        rows: rows of the whole matrix.
        columns: columns of the whole matrix.
        ranks: ranks of tensor parallelism; must divide the rows.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Shoeybi et al., Megatron-LM, arXiv:1909.08053, section 3.
    """
    high, parts = whole("rows", rows), whole("ranks", ranks)
    divides("ranks", parts, noted("rows"), high)
    return Shard(high // parts, whole("columns", columns))


def heads_per_rank(query_heads: Count, key_value_heads: Count, ranks: Count) -> Heads:
    """Attention heads of a tensor-parallel rank.

    Query heads are divided evenly. If there are fewer key-value heads than ranks, several ranks
    hold a copy of the same head.

        Q = query_heads / ranks
        K = max(1, key_value_heads / ranks)
        C = max(1, ranks / key_value_heads)

    Convention:
        Copies are the ranks that hold the same key-value head. Sequence parallelism does not
        split heads, so it does not avoid copies.

    Args:
        query_heads: query heads of the layer.
        key_value_heads: key-value heads; must divide the query heads.
        ranks: ranks of tensor parallelism; must divide the query heads, and divide or be a multiple
            of the key-value heads.

    Raises:
        ValueError: an argument is outside its domain.

    Source:
        Grattafiori et al., arXiv:2407.21783, table 3 (8 heads for 8 ranks); Megatron-LM, attention
        with grouped queries.
    """
    queries, shared = (whole("query_heads", query_heads), whole("key_value_heads", key_value_heads))
    parts = whole("ranks", ranks)
    divides("key_value_heads", shared, noted("query heads"), queries)
    divides("ranks", parts, noted("query heads"), queries)
    if shared % parts and parts % shared:
        raise ValueError(
            say(
                "{name} must divide or be a multiple of the key-value heads, {shared}, not {value}",
                name="ranks",
                shared=shared,
                value=ranks,
            )
        )
    return Heads(queries // parts, max(1, shared // parts), max(1, parts // shared))
