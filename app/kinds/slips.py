"""Slips that anybody may make with any number: they are named even where no author listed them."""

from dataclasses import dataclass

from app.units import BYTE, BYTE_PER_SECOND, Unit


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong answer that is *factor* times the right one."""

    factor: float
    says: str


_TOO_LARGE = "Your number is exactly {} times the right one: {}"
_TOO_SMALL = "Your number is exactly 1/{} of the right one: {}"

_PREFIXES = ((3, "GiB", "GB"), (2, "MiB", "MB"), (1, "KiB", "kB"), (4, "TiB", "TB"))
_BINARY: tuple[Slip, ...] = tuple(
    Slip(factor, says)
    for power, binary, decimal in _PREFIXES
    for factor, says in (
        (
            (1000 / 1024) ** power,
            f"The figure is right in {binary}, which are {1.024**power:.4g} times as large as "
            f"{decimal}: it was counted in {binary} and labelled {decimal}.",
        ),
        (
            1.024**power,
            f"Your number is the right one times {1.024**power:.4g}: {decimal} and {binary} were "
            f"exchanged. {decimal} counts in powers of 1000, {binary} in powers of 1024.",
        ),
    )
)
_BITS = (
    Slip(8, _TOO_LARGE.format(8, "bits were counted as bytes. A byte is 8 bits.")),
    Slip(1 / 8, _TOO_SMALL.format(8, "bytes were divided by 8 as if they were bits.")),
)
_ANY = (
    Slip(2, _TOO_LARGE.format(2, "something was counted twice (two directions? two phases?).")),
    Slip(1 / 2, _TOO_SMALL.format(2, "a factor of two was lost (one phase of two?).")),
    Slip(-1, "The size is right, the sign is not."),
    *(Slip(10.0**n, _TOO_LARGE.format(f"{10**n:,}", "look at the prefixes.")) for n in (3, 6, 9)),
    *(Slip(10.0**-n, _TOO_SMALL.format(f"{10**n:,}", "look at the prefixes.")) for n in (3, 6, 9)),
)
_PERCENT = (
    Slip(100, _TOO_LARGE.format(100, "a percentage was read as a fraction.")),
    Slip(1 / 100, _TOO_SMALL.format(100, "a fraction was typed where per cent are wanted.")),
)
_TENS = tuple(
    Slip(10.0**n, f"Your number is the right one times {10.0**n:g}: a decimal point has moved.")
    for n in (1, -1, 2, -2)
)


def slip(ratio: float, unit: Unit, tolerance: float) -> str:
    """What to say of an answer that is *ratio* times the right one, or nothing.

    *tolerance* is that of the exercise; a slip is only named when the figures match closely.
    """
    closeness = min(tolerance, 0.005)
    data = unit in (BYTE, BYTE_PER_SECOND)
    plain = not unit.symbol
    known: tuple[Slip, ...] = (*(_BINARY if data else ()), *_BITS, *_ANY)
    known += (*(_PERCENT if plain else ()), *_TENS)
    for candidate in known:
        if abs(ratio / candidate.factor - 1) <= closeness:
            return candidate.says
    return ""
