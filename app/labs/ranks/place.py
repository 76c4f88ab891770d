"""Where a measure is taken, in a few words."""

from collections.abc import Mapping

_MIB = 2**20


def place_shown(where: Mapping[str, float | str]) -> str:
    """The place *where* a measure is taken.

    >>> place_shown({"size": 2.0**30}), place_shown({"side": 4096, "format": "bf16"})
    ('1024 MiB', 'side 4096, format bf16')
    """
    return ", ".join(_part_shown(key, value) for key, value in where.items())


def _part_shown(key: str, value: float | str) -> str:
    if isinstance(value, str):
        return f"{key} {value}"
    return f"{value / _MIB:g} MiB" if key == "size" else f"{key} {value:g}"
