"""Quantities: base units inside, human units only at the two edges.

A number that crosses a function boundary is in the base unit that its annotation names: bytes, seconds, bytes per
second, FLOP, FLOP per second, joules, watts, dollars, ratios and counts. `parse` and `read` turn text such as "400
Gbit/s" into such a number, `show` turns one back into text, and no other module multiplies by a power of ten, two or
eight to change a unit. GB is 1e9 bytes, GiB is 2**30.
"""

from app.core.units.formatter import *
from app.core.units.parser import *
from app.core.units.scales import *

__all__ = [
    "BYTE", "BYTE_PER_SECOND", "COUNT", "DOLLAR", "DOLLAR_PER_HOUR", "DOLLAR_PER_JOULE",
    "DOLLAR_PER_KWH", "DOLLAR_PER_SECOND", "FLOP", "FLOP_PER_BYTE", "FLOP_PER_SECOND", "JOULE",
    "PER_SECOND", "PLAIN", "RATIO", "SECOND", "WATT", "Bytes", "BytesPerSecond", "Count",
    "Dimension", "Dollars", "DollarsPerHour", "DollarsPerJoule", "DollarsPerKwh",
    "DollarsPerSecond", "Flops", "FlopsPerByte", "FlopsPerSecond", "Joules", "PerSecond", "Ratio",
    "Reading", "Scale", "Seconds", "Unit", "Watts", "check_clear", "clear_text", "figures",
    "in_english", "round_inward", "list_in_english", "parse", "parse_or_base", "read", "scale_of",
    "show", "show_in", "show_size", "show_typed", "singular", "spell_dimension", "spelling", "unit_of",
]  # fmt: skip
