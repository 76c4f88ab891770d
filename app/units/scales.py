"""Every unit that may be written, and how many of its base unit it is."""

from dataclasses import dataclass
from functools import cache

from app.units.unit import (
    BYTE,
    BYTE_PER_SECOND,
    DOLLAR,
    DOLLAR_PER_JOULE,
    DOLLAR_PER_SECOND,
    FLOP,
    FLOP_PER_BYTE,
    FLOP_PER_SECOND,
    JOULE,
    PER_SECOND,
    RATIO,
    SECOND,
    WATT,
    Unit,
)

DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
SMALL = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
WORDS = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "exa": "E"}
WORDS |= {"kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti", "pebi": "Pi"}
LARGE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
HOUR, DAY = 3600.0, 86400.0


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit as written, such as "GiB": how many of the base unit it is."""

    symbol: str
    unit: Unit
    factor: float


def _scales() -> dict[str, Scale]:
    found: dict[str, Scale] = {}

    def add(symbols: str, unit: Unit, factor: float) -> None:
        for symbol in symbols.split():
            found[symbol] = Scale(symbol, unit, factor)

    for prefix, scale in (DECIMAL | BINARY).items():
        add(f"{prefix}B {prefix}byte {prefix}bytes {prefix}Byte {prefix}Bytes", BYTE, scale)
        add(f"{prefix}bit {prefix}bits {prefix}b", BYTE, scale / 8)
        add(f"{prefix}B/s {prefix}Bps {prefix}byte/s {prefix}bytes/s", BYTE_PER_SECOND, scale)
        add(f"{prefix}bit/s {prefix}bits/s {prefix}bps {prefix}b/s", BYTE_PER_SECOND, scale / 8)
    for prefix, scale in DECIMAL.items():
        add(f"{prefix}FLOP {prefix}FLOPs {prefix}flop {prefix}flops", FLOP, scale)
        add(f"{prefix}FLOP/s {prefix}FLOPs/s {prefix}FLOPS {prefix}flop/s", FLOP_PER_SECOND, scale)
        add(f"{prefix}FLOP/B {prefix}FLOP/byte {prefix}FLOPs/byte", FLOP_PER_BYTE, scale)
        add(f"{prefix}J", JOULE, scale)
        add(f"{prefix}Wh", JOULE, scale * HOUR)
        add(f"{prefix}W", WATT, scale)
        add(f"${prefix} {prefix}$ {prefix}USD", DOLLAR, scale)
    for prefix, scale in SMALL.items():
        add(f"{prefix}s {prefix}sec {prefix}secs", SECOND, scale)
        add(f"{prefix}J", JOULE, scale)
        add(f"{prefix}W", WATT, scale)
    add("s sec secs second seconds", SECOND, 1.0)
    for word, factor in {"milli": 1e-3, "micro": 1e-6, "nano": 1e-9}.items():
        add(f"{word}second {word}seconds", SECOND, factor)
    add("min mins minute minutes", SECOND, 60.0)
    add("h hr hrs hour hours GPU-h GPU-hours GPU-hour", SECOND, HOUR)
    add("d day days", SECOND, DAY)
    add("year years yr yrs y", SECOND, 365.25 * DAY)
    add("PF-days PF-day PFLOP/s-days PFLOP/s-day PFLOPS-days", FLOP, 1e15 * DAY)
    add("petaFLOP-days petaFLOP/s-days petaflop-days petaflop/s-days", FLOP, 1e15 * DAY)
    add("dollar dollars", DOLLAR, 1.0)
    add("$/s USD/s", DOLLAR_PER_SECOND, 1.0)
    add("$/h USD/h $/GPU-h", DOLLAR_PER_SECOND, 1 / HOUR)
    add("$/J USD/J", DOLLAR_PER_JOULE, 1.0)
    add("$/kWh USD/kWh", DOLLAR_PER_JOULE, 1 / (1e3 * HOUR))
    add("1/s /s Hz tokens/s sequences/s seqs/s seq/s samples/s steps/s", PER_SECOND, 1.0)
    add("% percent", RATIO, 0.01)
    add("points point", RATIO, 0.01)
    add("x × times", RATIO, 1.0)
    for word, factor in LARGE.items():
        add(word, RATIO, factor)
        add(f"${word} {word}$ {word}dollars {word}USD", DOLLAR, factor)
    add("steps step ranks rank GPUs GPU nodes node parameters params tokens sequences", RATIO, 1.0)
    add("microbatches layers stages heads elements bubbles copies Ψ", RATIO, 1.0)
    return found


def _spelled_out() -> dict[str, Scale]:
    """Words such as gigabytes."""
    prefixes, found = DECIMAL | BINARY, {}
    for word, prefix in WORDS.items():
        for base, bytes_ in (("byte", 1.0), ("bytes", 1.0), ("bit", 1 / 8), ("bits", 1 / 8)):
            found[word + base] = Scale(word + base, BYTE, prefixes[prefix] * bytes_)
    return found


SCALES = _scales() | _spelled_out()
PLAIN = Scale("", RATIO, 1.0)


def scale_of(symbol: str) -> Scale:
    """The unit written *symbol*.

    >>> scale_of("GiB").factor
    1073741824.0

    Raises:
        ValueError: no unit is written so.
    """
    if not symbol:
        return PLAIN
    if symbol not in SCALES:
        raise ValueError(f"{symbol!r} is not a unit here{close_symbols(symbol)}")
    return SCALES[symbol]


@cache
def takes_prefix(scale: Scale) -> bool:
    """Whether *scale* is one of several units that a metric prefix tells apart, as ms and s.

    >>> takes_prefix(scale_of("GB")), takes_prefix(scale_of("days"))
    (True, False)
    """
    if scale.unit in (RATIO, DOLLAR):
        return False
    bases = [scale.symbol.removeprefix(prefix) for prefix in DECIMAL | SMALL | BINARY]
    return any(
        (known := SCALES.get(prefix + base)) and known.unit is scale.unit and known != scale
        for base in bases
        if base in SCALES and SCALES[base].unit is scale.unit
        for prefix in ("", "k", "m")
    )


def close_symbols(symbol: str) -> str:
    """The end of a sentence that offers the units spelled like *symbol* but for capitals."""
    same = [known for known in SCALES if known.lower() == symbol.lower()]
    return f"; did you mean {' or '.join(same)}?" if same else ""
