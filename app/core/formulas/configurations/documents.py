"""Texts of configurations as objects: JSON, TOML, YAML, Python and arguments, within limits, with checked fields."""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from reprlib import repr as short

from app.core.formulas.configurations.yaml_text import values_of_yaml
from app.core.translation import value_error

CONFIGURATION_LIMIT = 256 << 10  # bytes of a configuration
_DEEPEST = 20
_MOST = 20_000  # values
_MOST_DOTS = 100  # in a line: tomllib takes a time that grows with the square of the parts of a key
_ARGUMENT = re.compile(r"(?:^|[\s\[(\"'])--([a-z][\w.-]*)(?:[=\s]+(?!--)([^\s\\]+))?", re.IGNORECASE)
_PRINTED = re.compile(r"^[^\w\n]{0,20}(?:\S{1,80}:[ \t]++)?(\w++) \.{3,} ?(\S[^\n]*+)$", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*+\[{1,2}[\w.\"]++\]{1,2}[ \t\r]*+$", re.MULTILINE)
_YAML = re.compile(r"^(?:[A-Za-z_][\w.-]{0,60}|'n'):(?:[ \t\r]|$)", re.MULTILINE)
_OVERRIDE = re.compile(
    r"(?:^|\s)\+{0,2}((?:actor_rollout_ref|data|trainer|algorithm|critic|reward_model)\.[\w.]{1,90}"
    r"|(?:ici|dcn)_\w{2,30}_parallelism|per_device_batch_size|model_name|max_target_length|remat_policy|quantization"
    r"|gradient_accumulation_steps|base_\w{2,30}|opt_type|attention|weight_dtype|\w{5,9}_memory_host_offload"
    r")=([^\s\\]*)"
)
_CALLS = {"TrainingConfig": "training", "ParallelismConfig": "parallelism", "CompileConfig": "compile"}
_FAMILY = re.compile(r"^def ([a-z]+\d*(?:_v\d)?)_", re.MULTILINE)
_PYTHON = re.compile(r"\b(?:Trainer\.Config|TrainingConfig|ParallelismConfig)\(")
_WORD = r"[\w./-]{1,200}"
_ASSIGNED = re.compile(
    rf"^[ \t]*+(?:export[ \t]+)?(\w{{1,60}})=[\"']?(?:({_WORD})|\$\{{\w{{1,60}}:-({_WORD})\}})[\"']?"
    r"[ \t\r;]*+(?:#.*+)?$",
    re.MULTILINE,
)
_PRODUCT = re.compile(r"\$\(\( ?(\d{1,9}) ?\* ?(\d{1,9}) ?\)\)")
_VARIABLE = re.compile(rf"\$(?:\{{(\w{{1,60}})(?::-({_WORD}))?\}}|(\w{{1,60}}))")
_KNOWN = {"true": True, "false": False, "none": None}
_FLAGS = {  # arguments that take no value: what stands behind them is another word
    "swiglu", "untie_embeddings_and_output_weights", "disable_bias_linear", "add_qkv_bias", "qk_layernorm",
    "group_query_attention", "sequence_parallel", "use_distributed_optimizer", "recompute_activations",
    "moe_router_enable_expert_bias", "use_rotary_position_embeddings", "bf16", "fp16", "use_megatron_fsdp",
    "use_torch_fsdp2", "optimizer_cpu_offload", "use_precision_aware_optimizer", "grad_reduce_in_bf16",
    "accumulate_allreduce_grads_in_fp32", "gradient_checkpointing",
}  # fmt: skip


def is_configuration(text: str) -> bool:
    """Whether *text* is a configuration rather than a name or `field=value` pairs."""
    bare = text.lstrip("\ufeff \t\r\n")
    if bare.startswith("{") or _TABLE.search(bare) or _PYTHON.search(bare) or _has_overrides(bare):
        return True
    several = len(_PRINTED.findall(bare[:CONFIGURATION_LIMIT])) > 1 or len(_YAML.findall(bare)) > 1
    return several or _has_arguments(bare)


def _has_overrides(text: str) -> bool:
    """Whether there are overrides of verl, or of MaxText; a single one without a dot may be a field of a record."""
    found = [name for name, _ in _OVERRIDE.findall(text)]
    return len(found) > 1 and any("." in name or "parallelism" in name or "per_device" in name for name in found)


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
        raise value_error("a configuration has at most {limit} KiB", limit=CONFIGURATION_LIMIT >> 10)
    bare = text.lstrip("\ufeff \t\r\n")
    found = _document(bare)
    check_document(found)
    if "log_history" in found:
        raise value_error(
            "this is the log of a run (trainer_state.json), not its configuration: `wallclock measured` reads it"
        )
    return found


def _document(text: str) -> Mapping[str, object]:
    if text.startswith("{"):
        return _json(text)
    if "$" in text:  # a script: the values that it gives its variables, or their defaults, go in their places
        text = _PRODUCT.sub(lambda found: str(int(found[1]) * int(found[2])), text)
        values = {name: first or default for name, first, default in _ASSIGNED.findall(text)}
        text = _VARIABLE.sub(lambda found: values.get(found[1] or found[3]) or found[2] or found[0], text)
    if _PYTHON.search(text):
        return _python(text)
    if _has_overrides(text):
        return _nested((name, _plain_value(value.strip("\"'"))) for name, value in _OVERRIDE.findall(text))
    if found := _toml(text):
        return found
    return values_of_yaml(text) if len(_YAML.findall(text)) > 1 and not _has_arguments(text) else _arguments(text)


def check_document(found: Mapping[str, object]) -> None:
    """Refuse an object that is nested too deeply or holds too much.

    Raises:
        ValueError: it does.
    """
    values: list[tuple[object, int]] = [(found, 1)]
    left = _MOST
    while values:
        value, depth = values.pop()
        inside = [*value.values()] if isinstance(value, Mapping) else value if isinstance(value, list) else []
        left -= len(inside)
        if left < 0 or depth > _DEEPEST:
            raise _too_large()
        values += [(one, depth + 1) for one in inside]


def _too_large() -> ValueError:
    return value_error("the configuration is nested too deeply or too large")


def _json(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise value_error(
            "the configuration is not valid JSON in line {line}: {problem}", line=error.lineno, problem=error.msg
        ) from None
    except (ValueError, RecursionError) as error:
        raise value_error("the configuration is not valid JSON: {problem}", problem=str(error)[:100]) from None
    return found if isinstance(found, dict) else {}


def _no_number(text: str) -> float:
    raise value_error("{text} is not a number", text=text)


def _toml(text: str) -> Mapping[str, object]:
    """The tables of TOML; nothing if there is none."""
    if not _TABLE.search(text):
        return {}
    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise _too_large()
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise value_error("the configuration is not valid TOML: {problem}", problem=str(error)[:100]) from None


def _python(text: str) -> Mapping[str, object]:
    """What one configuration of torchtitan sets in Python: numbers, texts, and products of numbers."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise value_error("the configuration is not valid Python: {problem}", problem=str(error)[:100]) from None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if sum(_call_name(call) == "Trainer.Config" for call in calls) > 1:
        raise value_error("these are several configurations of torchtitan in Python: paste the function of one")
    found: dict[str, object] = {}
    for call in calls:
        name = _call_name(call)
        if name in _CALLS:
            found[_CALLS[name]] = {one.arg: _literal(one.value) for one in call.keywords if one.arg}
        elif name in ("FullAC.Config", "SelectiveAC.Config"):
            found["activation_checkpoint"] = {"mode": name.partition(".")[0]}
        elif name == "model_registry" and call.args:
            family = _FAMILY.search(text)
            found["model"] = {"name": family[1] if family else "", "flavor": _literal(call.args[0])}
        elif name.endswith("LinearConverter.Config"):
            found["model"] = {**table_in(found, "model"), "converters": name}
    return found


def _call_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name(name), attribute):
            return f"{name}.{attribute}"
        case _:
            return ""


def _literal(node: ast.expr) -> object:
    """The value that *node* is written as; the program's text of anything else."""
    match node:
        case ast.Constant(value):
            return value
        case ast.BinOp(ast.Constant(int(one)), ast.Mult(), ast.Constant(int(other))):
            return one * other
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            return -value
        case _:
            return "an expression"


def _nested(pairs: Iterator[tuple[str, object]]) -> Mapping[str, object]:
    """An object in which `a.b` is the key b of the table a."""
    found: dict[str, object] = {}
    for path, value in pairs:
        *tables, name = path.split(".")
        inner = found
        for table in tables[:_DEEPEST]:
            below = inner.get(table)
            if not isinstance(below, dict):
                below = inner[table] = {}
            inner = below
        inner[name] = value
    return found


def _arguments(text: str) -> Mapping[str, object]:
    """The arguments of a command, or those that Megatron-LM prints at its start."""
    if printed := _PRINTED.findall(text):
        return {name: _plain_value(value.rstrip()) for name, value in printed}
    found: dict[str, object] = {}
    for name, value in _ARGUMENT.findall(text):
        key, bare = name.lower().replace("-", "_"), value.strip("\"',;)]")
        flag = not bare or (key in _FLAGS and bare.lower() not in _KNOWN)
        found[key] = True if flag else _plain_value(bare)
    return _nested(iter(found.items()))


_SECTIONS = (
    "model", "train", "optimizer", "ddp", "dataset", "mixed_precision", "checkpoint", "scheduler", "rng", "logger",
    "dist", "validation", "comm_overlap", "data", "optim",
)  # fmt: skip
_OF_ARGUMENTS = {"tensor_model_parallel_size", "pipeline_model_parallel_size"}


def arguments_of_sections(given: Mapping[str, object]) -> Mapping[str, object]:
    """*given*, of which the sections of a YAML of NeMo or Megatron-Bridge are the arguments of Megatron-LM."""
    if not _OF_ARGUMENTS & set(table_in(given, "model")) or _OF_ARGUMENTS & set(given):
        return given
    found: dict[str, object] = {}
    for name in _SECTIONS:
        section = given.get(name)
        if isinstance(section, Mapping):
            found |= section
        elif isinstance(section, str):
            found["precision"] = section  # mixed_precision: bf16_mixed
    trainer = table_in(given, "trainer")
    devices, nodes = trainer.get("devices"), trainer.get("num_nodes", 1)
    if isinstance(devices, int) and isinstance(nodes, int) and devices > 0:
        found["world_size"] = devices * nodes
    if "precision" in trainer:
        found.setdefault("precision", trainer["precision"])
    optimizer = str(table_in(found, "optim").get("name", ""))
    if "distributed" in optimizer:
        found["use_distributed_optimizer"] = True
    return found


def plain_number(value: object) -> object:
    """*value*, as a number if it is a text of one, as in arguments and YAML."""
    return _plain_value(value.strip().replace("_", "")) if isinstance(value, str) and value[:1].isdigit() else value


def _plain_value(text: str) -> object:
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
            if isinstance(value, list) and value:
                if any(one != value[0] for one in value):
                    raise value_error("{name} differs by layer, which a model shape cannot say", name=name)
                value = value[0]
            number = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
            if not 0 <= number <= _LARGEST or number % 1:
                raise value_error("{name} must be a whole number, not {value}", name=name, value=short(value))
            return int(number)
    return None


def needed_count(given: Mapping[str, object], *names: str) -> int:
    """The whole number under the first of *names* that has one.

    Raises:
        ValueError: there is none.
    """
    if (value := count_in(given, *names)) is None:
        raise value_error("the configuration has no {name}", name=names[0])
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
    raise value_error("{name} must be true or false, not {value}", name=name, value=short(value))


def table_in(given: Mapping[str, object], name: str) -> Mapping[str, object]:
    """The object under *name*; an empty one without."""
    value = given.get(name)
    return value if isinstance(value, Mapping) else {}


def latent_attention(given: Mapping[str, object], heads: int, size: int, rope: int) -> dict[str, int]:
    """The fields of a model shape with multi-head latent attention.

    *size* and *rope* are those of a head: without its rotary part, and of that part.

    Heads of another size for values than for queries are read as of their mean.

    Raises:
        ValueError: the mean is not a whole number, or the size of the latent is missing.
    """
    value = count_in(given, "v_head_dim") or size
    if (size + value) % 2 or rope < abs(value - size) // 2:
        raise value_error(
            "heads of {size} for queries and of {value} for values are different, which a model shape cannot say",
            size=size,
            value=value,
        )
    mean = (size + value) // 2  # as large together, and in the products of queries with the rest as rotary part
    rope += size - mean
    return {
        "key_value_heads": heads,
        "head_size": mean,
        "latent": needed_count(given, "kv_lora_rank"),
        "query_latent": count_in(given, "q_lora_rank") or 0,
        "rope": rope,
    }
