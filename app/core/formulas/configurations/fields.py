"""Numbers and truth values of a configuration, checked."""

from collections.abc import Mapping
from reprlib import repr as short
from typing import Any

from app.core.translation import say

_LARGEST = 1 << 40


def count_in(given: Mapping[str, Any], *names: str) -> int | None:
    """The whole number under the first of *names* that has one; None without.

    Raises:
        ValueError: what stands there is not a whole number, or differs by layer.
    """
    for name in names:
        if (value := given.get(name)) is not None:
            return _whole(name, value)
    return None


def needed_count(given: Mapping[str, Any], *names: str) -> int:
    """The whole number under the first of *names* that has one.

    Raises:
        ValueError: there is none.
    """
    if (value := count_in(given, *names)) is None:
        raise ValueError(say("the configuration has no {name}", name=names[0]))
    return value


def flag_in(given: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """The truth value under *name*.

    Raises:
        ValueError: what stands there is none.
    """
    value = given.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or value in (0, 1):
        return bool(value)
    raise ValueError(say("{name} must be true or false, not {value}", name=name, value=short(value)))


def table_in(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under *name*; an empty one without."""
    value = given.get(name)
    return value if isinstance(value, Mapping) else {}


def latent_attention(given: Mapping[str, Any], heads: int, size: int, rope: int) -> dict[str, int]:
    """The fields of a model shape with multi-head latent attention.

    *size* and *rope* are those of a head: without its rotary part, and of that part.

    Raises:
        ValueError: values have another size than queries, or the latent has none.
    """
    value = count_in(given, "v_head_dim")
    if value not in (None, size):
        raise ValueError(
            say(
                "heads of {size} for queries and of {value} for values are different, which a model shape cannot say",
                size=size,
                value=value,
            )
        )
    return {
        "key_value_heads": heads,
        "head_size": size,
        "latent": needed_count(given, "kv_lora_rank"),
        "query_latent": count_in(given, "q_lora_rank") or 0,
        "rope": rope,
    }


def _whole(name: str, value: object) -> int:
    if isinstance(value, list) and value:
        if any(one != value[0] for one in value):
            raise ValueError(say("{name} differs by layer, which a model shape cannot say", name=name))
        value = value[0]
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not 0 <= number <= _LARGEST or number % 1:
        raise ValueError(say("{name} must be a whole number, not {value}", name=name, value=short(value)))
    return int(number)
