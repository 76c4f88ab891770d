"""An address as a QR code, for the cameras of phones.

Bytes with error correction of level M, in versions 1 to 6: up to 106 bytes.

Source:
    ISO/IEC 18004.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

_BLOCKS = ((16, 10, 1), (28, 16, 1), (44, 26, 1), (32, 18, 2), (43, 24, 2), (27, 16, 4))
# Of each version: bytes of data and of correction in a block, and blocks.
_OVERHEAD = 2  # bytes: the mode, the length, and the end
_FIELD = 0x11D  # x^8 + x^4 + x^3 + x^2 + 1, of the bytes of the correction
_FORMAT, _FORMAT_MASK = 0x537, 0x5412
_EDGE = 7  # modules of a finder pattern
_TIMING = 6  # the row and the column of the timing pattern
_MASKS: Sequence[Callable[[int, int], bool]] = (
    lambda x, y: (x + y) % 2 == 0,
    lambda x, y: y % 2 == 0,
    lambda x, y: x % 3 == 0,
    lambda x, y: (x + y) % 3 == 0,
    lambda x, y: (x // 3 + y // 2) % 2 == 0,
    lambda x, y: x * y % 2 + x * y % 3 == 0,
    lambda x, y: (x * y % 2 + x * y % 3) % 2 == 0,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2 == 0,
)
Modules = list[list[bool]]  # rows; true is dark


def qr_code(text: str) -> Modules | None:
    """The modules of *text*, without the quiet zone around them; None if it is too long."""
    content = text.encode()
    for version, (data, correction, blocks) in enumerate(_BLOCKS, 1):
        if len(content) + _OVERHEAD <= data * blocks:
            words = _words(content, data, correction, blocks)
            drawn = (_drawn(version, words, mask) for mask in range(len(_MASKS)))
            return min(drawn, key=_penalty)
    return None


def svg_path(modules: Modules) -> str:
    """The dark modules as a path of an SVG; each is 1 by 1.

    >>> svg_path([[True, True, False], [False, False, True]])
    'M0 0h2v1h-2zM2 1h1v1h-1z'
    """
    found = []
    for y, row in enumerate(modules):
        x = 0
        for dark, run in groupby(row):
            width = len(list(run))
            found += [f"M{x} {y}h{width}v1h-{width}z"] if dark else []
            x += width
    return "".join(found)


def _words(content: bytes, data: int, correction: int, blocks: int) -> bytes:
    """The bytes that are drawn: those of every block in turn, and then their correction."""
    bits = f"0100{len(content):08b}" + "".join(f"{byte:08b}" for byte in content) + "0000"
    whole = bytes(int(bits[place : place + 8], 2) for place in range(0, len(bits), 8))
    padding = (b"\xec\x11" * (data * blocks))[: data * blocks - len(whole)]
    every = whole + padding
    parts = [every[start : start + data] for start in range(0, len(every), data)]
    checks = [_correction(part, correction) for part in parts]
    return bytes(
        byte for group in (parts, checks) for turn in zip(*group, strict=True) for byte in turn
    )


def _correction(block: bytes, count: int) -> bytes:
    """The remainder of *block* by the Reed-Solomon polynomial of *count* roots."""
    divisor = [1]
    root = 1
    for _ in range(count):
        shifted, scaled = [*divisor, 0], [0, *(_times(one, root) for one in divisor)]
        divisor = [one ^ other for one, other in zip(shifted, scaled, strict=True)]
        root = _times(root, 2)
    rest = [0] * count
    for byte in block:
        factor = byte ^ rest[0]
        rest = [
            one ^ _times(part, factor)
            for one, part in zip([*rest[1:], 0], divisor[1:], strict=True)
        ]
    return bytes(rest)


def _times(one: int, other: int) -> int:
    """The product of two bytes in the field of the correction."""
    product = 0
    for bit in range(7, -1, -1):
        product = product << 1 ^ (_FIELD if product & 0x80 else 0)
        product ^= one if other >> bit & 1 else 0
    return product


def _drawn(version: int, words: bytes, mask: int) -> Modules:
    size = 4 * version + 17
    fixed = {**_finders(size), **_alignment(version, size), **_format(size, mask)}
    bits = (bool(word >> bit & 1) for word in words for bit in range(7, -1, -1))
    free = {
        (x, y): next(bits, False) ^ _MASKS[mask](x, y)
        for x, y in _zigzag(size)
        if (x, y) not in fixed
    }
    both = {**free, **fixed}
    return [[both[x, y] for x in range(size)] for y in range(size)]


def _zigzag(size: int) -> Iterator[tuple[int, int]]:
    """The places in the order of the bits: two columns at a time, up and down in turn."""
    upward = True
    for right in [*range(size - 1, _TIMING, -2), *range(_TIMING - 1, 0, -2)]:
        for step in range(size):
            y = size - 1 - step if upward else step
            yield right, y
            yield right - 1, y
        upward = not upward


def _finders(size: int) -> dict[tuple[int, int], bool]:
    """The timing patterns, and the three corners with the light line around each."""
    found = {}
    for place in range(size):
        found[place, _TIMING] = found[_TIMING, place] = place % 2 == 0
    for left, top in ((0, 0), (size - _EDGE, 0), (0, size - _EDGE)):
        for x in range(max(0, left - 1), min(size, left + _EDGE + 1)):
            for y in range(max(0, top - 1), min(size, top + _EDGE + 1)):
                ring = max(abs(x - left - 3), abs(y - top - 3))
                found[x, y] = ring not in (2, 4)
    return found


def _alignment(version: int, size: int) -> dict[tuple[int, int], bool]:
    """The small square at the lower right, which version 1 does without."""
    center, around = size - 7, range(-2, 3)
    return {
        (center + x, center + y): max(abs(x), abs(y)) != 1
        for x in around
        for y in around
        if version > 1
    }


def _format(size: int, mask: int) -> dict[tuple[int, int], bool]:
    """Level M and the *mask*, twice; and a module that is always dark."""
    rest = mask
    for _ in range(10):
        rest = rest << 1 ^ (rest >> 9) * _FORMAT
    bits = (mask << 10 | rest) ^ _FORMAT_MASK
    first = [*((8, y) for y in (0, 1, 2, 3, 4, 5, 7, 8)), *((x, 8) for x in (7, 5, 4, 3, 2, 1, 0))]
    second = [*((size - 1 - x, 8) for x in range(8)), *((8, size - 7 + y) for y in range(7))]
    found = {
        place: bool(bits >> bit & 1) for copy in (first, second) for bit, place in enumerate(copy)
    }
    return {**found, (8, size - 8): True}


def _penalty(modules: Modules) -> int:
    """How hard the modules are to read: long runs of one color, and squares of it."""
    columns = [list(column) for column in zip(*modules, strict=True)]
    runs = (len(list(run)) for line in (*modules, *columns) for _, run in groupby(line))
    squares = sum(
        row[x] == row[x + 1] == below[x] == below[x + 1]
        for row, below in zip(modules, modules[1:], strict=False)
        for x in range(len(row) - 1)
    )
    return sum(length - 2 for length in runs if length > 4) + 3 * squares  # noqa: PLR2004
