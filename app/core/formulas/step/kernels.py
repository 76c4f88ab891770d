"""Kernels: products by tiles and waves, attention, and what only moves bytes."""

from typing import NamedTuple

from app.core.formulas.parallelism.numbers import Numbers, Value
from app.core.formulas.step.speeds import Speeds
from app.core.formulas.step.widths import Linear, Width

# Tiles of 256 x 128, 128 x 128, 128 x 64 and 64 x 64: how much of a wave of the largest each one
# is, over its rate compared with the largest's.
_WHOLE, _HALF, _QUARTER, _EIGHTH = 1.0, 1 / 2 / 0.95, 1 / 4 / 0.80, 1 / 8 / 0.60
_LARGEST = 256 * 128
_CORE = 0.75  # of a product's share, in attention: a prior
_FLASH_BACKWARD = 2.5  # FlashAttention computes the scores again: 5 products for 2


class Spent(NamedTuple):
    """Seconds forward and backward."""

    forward: Value
    backward: Value


class Products:
    """Seconds of the products of a layer's weights, of *rows* tokens with *tensor* ranks.

    The efficiency of each pair of sides is computed once. *groups* products of the same size run as
    one kernel.
    """

    def __init__(self, speeds: Speeds, on: Numbers, rows: Value, tensor: Value, groups: Value = 1) -> None:
        self._on, self._rows, self._tensor, self._groups = on, rows, tensor, groups
        self._units = speeds.units
        self._seen: dict[tuple[Width | None, Width | None], Value] = {}

    def seconds(self, linears: tuple[Linear, ...], rate: float) -> Spent:
        """Forward; backward for the input and for the weight."""
        forward, backward = 0.0, 0.0
        for result, taken in linears:
            work = self._side(result) * self._side(taken)
            work = 2 * self._rows * work * self._groups / rate
            forward = forward + work / self._reached(None, result)
            backward = backward + work / self._reached(None, taken)
            backward = backward + work / self._reached(result, taken)
        return Spent(forward, backward)

    def _side(self, width: Width | None) -> Value:
        if width is None:
            return self._rows
        return width.size / self._tensor if width.split else width.size

    def _reached(self, down: Width | None, across: Width | None) -> Value:
        key = down, across
        if key not in self._seen:
            rows, columns = self._side(down), self._side(across)
            self._seen[key] = _efficiency(rows, columns, self._groups, self._units, self._on)
        return self._seen[key]


def _efficiency(rows: Value, columns: Value, groups: Value, units: int, on: Numbers) -> Value:
    """The best over the tiles: whole tiles in whole waves over the *units* of a GPU."""
    ceil, smaller = on.ceil, on.smaller
    high, broad = ceil(rows / 128), ceil(columns / 128) * groups
    narrow = ceil(columns / 64) * groups
    waves = smaller(
        smaller(_WHOLE * ceil(ceil(rows / 256) * broad / units), _HALF * ceil(high * broad / units)),
        smaller(_QUARTER * ceil(high * narrow / units), _EIGHTH * ceil(ceil(rows / 64) * narrow / units)),
    )
    return rows * columns * groups / (_LARGEST * units * waves)


def moved_time(speeds: Speeds, size: Value) -> Value:
    """Seconds in which a kernel reads and writes *size* bytes."""
    return size / speeds.memory


def scores(speeds: Speeds, rows: Value, heads: Value, keys: Value) -> Spent:
    """Softmax and dropout of scores that are written: 4 + 5 bytes forward, 6 + 5 backward.

    Of *heads* on the rank; nothing where attention is fused.
    """
    if speeds.fused:
        return Spent(0.0, 0.0)
    size = moved_time(speeds, rows * heads * keys)
    return Spent(9 * size, 11 * size)


def attention_time(speeds: Speeds, on: Numbers, rows: Value, keys: Value, wide: Value, heads: Value) -> Spent:
    """Scores with keys and values, *wide* elements of both on the rank.

    Fused: half of the products, as the mask is causal, and backward 2.5 times as much. Written: two
    batched products whose scores go through memory.
    """
    flops = 2 * rows * keys * wide / (_CORE * speeds.exact)
    if speeds.fused:
        return Spent(flops / 2, _FLASH_BACKWARD * flops / 2)
    forward = on.larger(flops, moved_time(speeds, 4 * rows * heads * keys))
    return Spent(forward, 2 * forward)
