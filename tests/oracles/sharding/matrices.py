"""An MLP of two matrices and an activation function, on one rank and on several."""

from dataclasses import dataclass

Matrix = list[list[int]]


@dataclass(frozen=True, slots=True)
class MlpSplit:
    """The result on every rank, the shapes of their shards, and the numbers that each sent."""

    results: list[Matrix]
    first_shapes: list[tuple[int, int]]
    second_shapes: list[tuple[int, int]]
    sent: list[int]


def counted_product(left: Matrix, right: Matrix) -> Matrix:
    """The product, number by number."""
    return [[sum(a * right[k][j] for k, a in enumerate(row)) for j in range(len(right[0]))] for row in left]


def bend(values: Matrix) -> Matrix:
    """The activation function ReLU: negative numbers become zero."""
    return [[max(0, value) for value in row] for row in values]


def parallel_mlp(given: Matrix, up: Matrix, down: Matrix, ranks: int, *, in_rows: bool = False) -> MlpSplit:
    """Columns of *up* and rows of *down* on each rank; partial results are added around a ring.

    With *in_rows*, input and result are split by rows: the input is gathered first, and the result
    is left scattered.
    """
    wide = len(up[0]) // ranks
    sent = [0] * ranks
    partial = []
    ups, downs = [], []
    if in_rows:
        _gather(given, ranks, sent)
    for rank in range(ranks):
        columns = slice(rank * wide, (rank + 1) * wide)
        ups.append([row[columns] for row in up])
        downs.append(down[columns])
        partial.append(counted_product(bend(counted_product(given, ups[-1])), downs[-1]))
    total = _scatter(partial, sent)
    if not in_rows:
        _gather(total, ranks, sent)
    shapes = [[(len(part), len(part[0])) for part in parts] for parts in (ups, downs)]
    return MlpSplit([total] * ranks, shapes[0], shapes[1], sent)


def _parts(numbers: int, ranks: int) -> list[range]:
    return [range(r * numbers // ranks, (r + 1) * numbers // ranks) for r in range(ranks)]


def _scatter(partial: list[Matrix], sent: list[int]) -> Matrix:
    """Each part moves once around the ring, and every rank adds to it."""
    ranks, columns = len(partial), len(partial[0][0])
    flat = [[value for row in matrix for value in row] for matrix in partial]
    for owner, part in enumerate(_parts(len(flat[0]), ranks)):
        for hop in range(1, ranks):
            sender, receiver = (owner + hop) % ranks, (owner + hop + 1) % ranks
            for place in part:
                flat[receiver][place] += flat[sender][place]
            sent[sender] += len(part)
    whole = [0] * len(flat[0])
    for owner, part in enumerate(_parts(len(whole), ranks)):
        for place in part:
            whole[place] = flat[owner][place]
    return [whole[at : at + columns] for at in range(0, len(whole), columns)]


def _gather(matrix: Matrix, ranks: int, sent: list[int]) -> None:
    """Each part moves around the ring until every rank has it."""
    for owner, part in enumerate(_parts(len(matrix) * len(matrix[0]), ranks)):
        for hop in range(ranks - 1):
            sent[(owner + hop) % ranks] += len(part)
