"""A step of Megatron-LM of 2021, added up naively: GPT on A100s, scores written, nothing hidden.

A second computation from the same published account of its kernels; it shares no code with `app`.
"""

import math

PEAK, MEMORY, UNITS = 312e12, 2.039e12, 108
PRODUCT, MOVED = 0.87, 0.60
TILES = ((256, 128, 1.0), (128, 128, 0.95), (128, 64, 0.8), (64, 64, 0.6))


def product(rows: float, columns: float, deep: float) -> float:
    """Seconds of one product."""
    shares = []
    for tall, broad, rate in TILES:
        tiles = math.ceil(rows / tall) * math.ceil(columns / broad)
        rounds = math.ceil(tiles / UNITS)
        shares.append(rate * rows * columns / (tall * broad * UNITS * rounds))
    return 2 * rows * columns * deep / (PEAK * PRODUCT * max(shares))


def moved(size: float) -> float:
    """Seconds of reading and writing *size* bytes."""
    return size / (MEMORY * MOVED)


def all_reduce(size: float, ranks: int) -> float:
    """Seconds of an all-reduce inside a node."""
    if ranks == 1:
        return 0.0
    sent = 2 * size * (ranks - 1) / ranks
    return 40e-6 + 2 * (ranks - 1) * 3.4e-6 + sent / (235e9 * ranks / (ranks + 0.4))


def layer(h: int, a: int, s: int, b: int, t: int, *, full: bool, selective: bool, split: bool) -> float:
    """Seconds of one layer for one micro-batch, forward and backward."""
    rows = b * s
    sides = ((3 * h / t, h), (h, h / t), (4 * h / t, h), (h, 4 * h / t))
    forward = sum(product(rows, n, k) for n, k in sides)
    backward = sum(product(rows, k, n) + product(n, k, rows) for n, k in sides)
    whole = 1 / t if split else 1.0
    forward += moved(rows * (22 * h * whole + 32 * h / t))
    backward += moved(rows * (46 * h * whole + 54 * h / t)) + moved(8 * 12 * h * h / t)
    soft = moved(9 * rows * a * s / t)
    core = max(4 * rows * s * h / t / (0.75 * PEAK * PRODUCT), moved(4 * rows * a * s / t))
    forward += soft + core
    backward += moved(11 * rows * a * s / t) + 2 * core
    again = forward if full else soft + core if selective else 0.0
    reduced = (6 if full else 4) * all_reduce(2 * rows * h, t)
    least = (3.3e-3 if t > 1 else 2.9e-3) * (4 if full else 3) / 4
    return max(forward + backward + again + reduced, least) + 0.4e-3


def ends(h: int, vocabulary: int, s: int, b: int, t: int) -> tuple[float, float]:
    """Seconds of the embedding, and of the output head with its loss."""
    rows, part = b * s, vocabulary / t
    head = product(rows, part, h) + product(rows, h, part) + product(part, h, rows)
    head += moved(30 * rows * part) + 2 * all_reduce(2 * rows * h, t)
    return moved(20 * rows * h), head


def step(
    layers: int, h: int, a: int, s: int, vocabulary: int, t: int, p: int, d: int, b: int, m: int,
    v: int, network: float, *, full: bool, selective: bool, split: bool,
) -> float:  # fmt: skip
    """Seconds of a step on nodes of 8 GPUs with *network* bytes per second each."""
    one = layer(h, a, s, b, t, full=full, selective=selective, split=split)
    stages = [layers / p * one] * p
    first, last = ends(h, vocabulary, s, b, t)
    stages[0] += first
    stages[-1] += last
    time = m * max(stages) + (sum(stages) - max(stages)) / v
    if p > 1:
        time += (p * v - 1) * 2 * (30e-6 + 2 * b * s * h / t / (network / 8))
    held = (12 * h * h * layers / p + vocabulary * h) / t
    nodes = d * t // 8
    if d > 1 and nodes <= 1:
        time += all_reduce(2 * held, d)
    elif d > 1:
        time += 30e-6 + 2 * (nodes - 1) * 5e-6
        time += 2 * 2 * held * (d - 1) / d / (network * 0.9 / min(8, t))
    return time + 20e-12 * held
