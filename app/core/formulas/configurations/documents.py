"""Texts of configurations as objects: JSON, TOML and arguments, within limits, with checked fields."""

import json
import re
import tomllib
from collections.abc import Mapping
from reprlib import repr as short

from app.core.translation import say

CONFIGURATION_LIMIT = 256 << 10  # bytes of a configuration
_DEEPEST = 20
_MOST = 20_000  # values
_MOST_DOTS = 100  # in a line: tomllib takes a time that grows with the square of the parts of a key
_ARGUMENT = re.compile(r"(?:^|[\s\[(\"'])--([a-z][\w-]*)(?:[=\s]+(?!--)([^\s\\]+))?", re.IGNORECASE)
_PRINTED = re.compile(r"^[^\w\n]{0,20}(?:\S{1,80}:[ \t]++)?(\w++) \.{3,} ?(\S[^\n]*+)$", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*+\[{1,2}[\w.\"]++\]{1,2}[ \t\r]*+$", re.MULTILINE)
_KNOWN = {"true": True, "false": False, "none": None}
_FLAGS = {  # arguments that take no value: what stands behind them is another word
    "swiglu",
    "untie_embeddings_and_output_weights",
    "disable_bias_linear",
    "add_qkv_bias",
    "qk_layernorm",
    "group_query_attention",
    "sequence_parallel",
    "use_distributed_optimizer",
    "recompute_activations",
    "moe_router_enable_expert_bias",
    "use_rotary_position_embeddings",
}


def is_configuration(text: str) -> bool:
    """Whether *text* is a configuration rather than a name or `field=value` pairs."""
    bare = text.lstrip("\ufeff \t\r\n")
    if bare.startswith("{") or _TABLE.search(bare):
        return True
    return len(_PRINTED.findall(bare[:CONFIGURATION_LIMIT])) > 1 or _has_arguments(bare)


def _has_arguments(text: str) -> bool:
    """Whether there are arguments as of a command; `--tensor=8` alone is a field of a record."""
    found = [name for name, value in _ARGUMENT.findall(text[:CONFIGURATION_LIMIT])]
    return any("-" in name or "_" in name for name in found)


def document_of(text: str) -> Mapping[str, object]:
    """The object that *text* holds; arguments become one, with their names in snake case.

    Raises:
        ValueError: it is too large, not valid, or nested too deeply.
    """
    if len(text.encode("utf-8", "replace")) > CONFIGURATION_LIMIT:
        raise ValueError(say("a configuration has at most {limit} KiB", limit=CONFIGURATION_LIMIT >> 10))
    bare = text.lstrip("\ufeff \t\r\n")
    found = _json(bare) if bare.startswith("{") else _toml(bare) or _arguments(bare)
    check_document(found)
    return found


def check_document(found: Mapping[str, object]) -> None:
    """Refuse an object that is nested too deeply or holds too much.

    Raises:
        ValueError: it does.
    """
    values: list[tuple[object, int]] = [(found, 1)]
    left = _MOST
    while values:
        value, depth = values.pop()
        inside = _inside(value)
        left -= len(inside)
        if left < 0 or depth > _DEEPEST:
            raise _too_large()
        values += [(one, depth + 1) for one in inside]


def _too_large() -> ValueError:
    return ValueError(say("the configuration is nested too deeply or too large"))


def _inside(value: object) -> list[object]:
    if isinstance(value, Mapping):
        return list(value.values())
    return value if isinstance(value, list) else []


def _json(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(
            say("the configuration is not valid JSON in line {line}: {problem}", line=error.lineno, problem=error.msg)
        ) from None
    except (ValueError, RecursionError) as error:
        raise ValueError(say("the configuration is not valid JSON: {problem}", problem=str(error)[:100])) from None
    return found if isinstance(found, dict) else {}


def _no_number(text: str) -> float:
    raise ValueError(say("{text} is not a number", text=text))


def _toml(text: str) -> Mapping[str, object]:
    """The tables of TOML; nothing if there is none."""
    if not _TABLE.search(text):
        return {}
    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise _too_large()
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(say("the configuration is not valid TOML: {problem}", problem=str(error)[:100])) from None


def _arguments(text: str) -> Mapping[str, object]:
    """The arguments of a command, or those that Megatron-LM prints at its start."""
    if printed := _PRINTED.findall(text):
        return {name: _plain_value(value.rstrip()) for name, value in printed}
    found: dict[str, object] = {}
    for name, value in _ARGUMENT.findall(text):
        key, bare = name.lower().replace("-", "_"), value.strip("\"',;)]")
        flag = not bare or (key in _FLAGS and bare.lower() not in _KNOWN)
        found[key] = True if flag else _plain_value(bare)
    return found


def _plain_value(text: str) -> object:
    """*text* as a number or a truth value, if it is one."""
    if text.lower() in _KNOWN:
        return _KNOWN[text.lower()]
    if len(text) < 40:  # noqa: PLR2004 - no number of a configuration is longer
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


_LARGEST = 1 << 40


def count_in(given: Mapping[str, object], *names: str) -> int | None:
    """The whole number under the first of *names* that has one; None without.

    Raises:
        ValueError: what stands there is not a whole number, or differs by layer.
    """
    for name in names:
        if (value := given.get(name)) is not None:
            return _whole_number(name, value)
    return None


def needed_count(given: Mapping[str, object], *names: str) -> int:
    """The whole number under the first of *names* that has one.

    Raises:
        ValueError: there is none.
    """
    if (value := count_in(given, *names)) is None:
        raise ValueError(say("the configuration has no {name}", name=names[0]))
    return value


def flag_in(given: Mapping[str, object], name: str, default: bool = False) -> bool:
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


def table_in(given: Mapping[str, object], name: str) -> Mapping[str, object]:
    """The object under *name*; an empty one without."""
    value = given.get(name)
    return value if isinstance(value, Mapping) else {}


def latent_attention(given: Mapping[str, object], heads: int, size: int, rope: int) -> dict[str, int]:
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


def _whole_number(name: str, value: object) -> int:
    if isinstance(value, list) and value:
        if any(one != value[0] for one in value):
            raise ValueError(say("{name} differs by layer, which a model shape cannot say", name=name))
        value = value[0]
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    if not 0 <= number <= _LARGEST or number % 1:
        raise ValueError(say("{name} must be a whole number, not {value}", name=name, value=short(value)))
    return int(number)
