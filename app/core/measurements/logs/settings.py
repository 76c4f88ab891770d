"""The numbers on a line of a step, and what a log prints once, before its steps."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from app.core.measurements import number_checks

_COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_JOINT = re.compile(r"[:=]++ ?")
_QUOTES = str.maketrans("", "", "\"'")
_DIGITS = r"(\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3}(?![\d.]))?|\.\d{1,20})"
_BEHIND = (
    r"(\s?%|[A-Za-z\u00b5]{1,12}(?:/[A-Za-z]{1,12}){0,3}"
    r"|\s(?:ms|us|s|sec|[KMGBT]|[GTP]FLOPS?(?:/s)?)(?![\w:/]))?"
)
_N = rf":?\s?{_DIGITS}{_BEHIND}"
_FIRST = rf"{_DIGITS}\s?"  # a number before its name
_TERA, _MILLI = 1e12, 1e-3


@dataclass(frozen=True, slots=True)
class LogField:
    """How a number is printed: a *word* of its line, a form, its unit and the scale without one."""

    name: str
    word: str
    form: re.Pattern[str]
    reads: number_checks.ReadsUnit
    scale: float = 1.0


def _field(
    name: str, word: str, form: str, reads: number_checks.ReadsUnit = number_checks.in_counts, scale: float = 1.0
) -> LogField:
    return LogField(name, word, re.compile(rf"(?<![A-Za-z]){form}", re.IGNORECASE), reads, scale)


def _inverse(value: float, behind: str, scale: float) -> float | None:
    rate = number_checks.in_counts(value, behind, scale)
    return 1 / rate if rate else None


def _scaled_field(word: str, form: str, scale: float = 1.0) -> LogField:
    return _field("step_time", word, form, number_checks.in_seconds, scale)


def _flops(word: str, form: str) -> LogField:
    return _field("flops_per_gpu", word, form, number_checks.in_flops, _TERA)


def _tokens(word: str, form: str) -> LogField:
    return _field("tokens_per_second_per_gpu", word, form)


_FIELDS = (
    _scaled_field("elapsed", rf"elapsed time per iteration ?\(?ms\)?{_N}", _MILLI),
    _scaled_field("elapsed", rf"elapsed time per iteration(?: ?\(?s\)?)?{_N}"),
    _scaled_field("train step", rf"train step timing(?: in s)?{_N}"),
    _scaled_field("iter time", rf"iter time \(s\){_N}"),
    _field("step_time", "iter time", rf"iter time:{_DIGITS}{_BEHIND}", number_checks.in_named_seconds),
    _scaled_field("seconds", rf"seconds{_N}"),
    _scaled_field("step time", rf"step time{_N}"),
    _scaled_field("end to end", rf"time metrics/end to end\(s\)\W{{0,9}}{_N}"),
    _scaled_field("perf/time", rf"perf/time per step{_N}"),
    _scaled_field("timing s/step", rf"timing s/step{_N}"),
    _field("step_time", "| time:", rf"\| time:{_DIGITS}{_BEHIND}", number_checks.in_named_seconds),
    _scaled_field("train speed", rf"train speed\(s/it\){_N}"),
    _field("step_time", "train speed", rf"train speed\(iter/s\){_N}", _inverse),
    _field("phase_time", "update actor", rf"timing s/update actor{_N}", number_checks.in_seconds),
    _field("step_time", "dt:", rf"dt:{_DIGITS}{_BEHIND}", number_checks.in_named_seconds),
    _field("step_time", ", time", rf", time {_DIGITS}{_BEHIND}", number_checks.in_named_seconds),
    _scaled_field("s/it", rf"{_FIRST}()s/it"),
    _field("step_time", "it/s", rf"{_FIRST}()it/s", _inverse),
    _flops("tflop/s/gpu", rf"(?:throughput|compute) per gpu \(tflop/s/gpu\){_N}"),
    _flops("approx flops", rf"approx flops per gpu{_N}"),
    _flops("tflop/s", rf"tflop/s(?:/device|/gpu)?{_N}"),
    _flops("gpu utilization", rf"gpu utilization{_N}"),
    _flops("model tflop", rf"{_FIRST}()MODEL TFLOP/s/GPU"),
    _flops("model tflops", rf"model tflops per gpu{_N}"),
    _flops("tflops per ", rf"tflops per (?:sec per )?gpu{_N}"),
    _flops("tflops", rf"tflops(?:/s)?(?:[ /]{{0,2}}(?:per |/)?(?:gpu|device))?{_N}"),
    _tokens("tgs", rf"tokens per gpu per second ?\(?tgs\)?{_N}"),
    _tokens("per gpu", rf"tokens per gpu per second{_N}"),
    _tokens("per gpu", rf"tokens?(?:/train)? per sec\w{{0,3}} per gpu{_N}"),
    _tokens("/gpu)", rf"\(tokens?/s(?:ec)?/gpu\){_N}"),
    _tokens("tok", rf"tokens?/s(?:ec)?/(?:device|gpu){_N}"),
    _tokens("tok", rf"{_FIRST}()tok(?:ens)?/s(?:ec)?/gpu"),
    _tokens("device/tps", rf"throughput/device/tps(?: \(actual avg\))?{_N}"),
    _tokens("ps:", rf"(?<!/)(?:tps|wps){_N}"),
    _tokens("tgs", rf"tgs{_N}"),
    _tokens("perf/throughput", rf"perf/throughput{_N}"),
    _field("tokens_per_second", "tokens per sec", rf"tokens per sec\w{{0,3}}:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "tok", rf"tok(?:ens)?/s(?:ec)?:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "current steps", rf"throughput:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "learning rate", rf"throughput:{_DIGITS}{_BEHIND}"),
    _field("tokens_per_second", "peak mem", rf"throughput:{_DIGITS} ?tok()"),
    _field("samples_per_second", "currsamples", rf"CurrSamplesPerSec{_N}"),
    _field("samples_per_second", "samplespersec", rf"SamplesPerSec{_N}"),
    _field("samples_per_second", "samples", rf"samples(?: per second|/sec){_N}"),
    _field("mfu", "mfu", rf"mfu(?:/actor)?(?: \(actual avg\))?(?: \(%\))?{_N}", number_checks.as_share),
    _field("global_batch", "batch", rf"global batch size{_N}"),
)


@dataclass(frozen=True, slots=True)
class LineNumbers:
    """What a line says, in base units, and what is left out for what stands behind it."""

    values: dict[str, float]
    odd: dict[str, str]


def plain_line(line: str) -> str:
    """*line* without colors, quotes and underscores, with one colon between name and number.

    >>> plain_line("'elapsed_time_per_iteration_ms' =  3415.3 |")
    'elapsed time per iteration ms:3415.3 |'
    """
    spaced = " ".join(without_colors(line).translate(_QUOTES).replace("_", " ").split())
    return _JOINT.sub(":", spaced).replace(" :", ":").replace("( ", "(").replace(" )", ")")


def without_colors(line: str) -> str:
    """*line* without the signs that color it."""
    return _COLOR.sub("", line) if "\x1b" in line else line


def line_numbers(line: str, mfu_scale: float = 0.0) -> LineNumbers:
    """The numbers on *line*; *mfu_scale* is that of an MFU without a percent sign, 0 if unknown."""
    plain = plain_line(line)
    found = LineNumbers({}, {})
    for one, number, unit in _field_places(shape_of(plain)):
        value = number_checks.read_number(plain[number])
        behind = plain[unit].strip()
        if value is None or one.name in found.values:
            continue
        scale = one.scale if one.name != "mfu" else (mfu_scale or (1.0 if value <= 1 else 0.0))
        read = one.reads(value, behind, scale)
        if read:
            found.values[one.name] = read
            found.odd.pop(one.name, None)
        elif scale:
            found.odd.setdefault(one.name, f"{plain[number]}{behind}")
    return found


_ZEROS = str.maketrans("123456789", "0" * 9)
REMEMBERED = 1024  # shapes of lines


def shape_of(line: str) -> str:
    """*line* with 0 for every digit: lines of one shape have the same numbers in the same places."""
    return line.translate(_ZEROS)


@lru_cache(REMEMBERED)
def _field_places(shape: str) -> Sequence[tuple[LogField, slice, slice]]:
    """The fields on lines of this *shape*, and where the number and its unit stand."""
    lowered = shape.lower()
    found = ((one, one.form.search(shape)) for one in _FIELDS if one.word in lowered)
    return [(one, slice(*match.span(1)), slice(*match.span(2))) for one, match in found if match]


# How an argument is printed, and what it is called here.
_KEYS = {
    "global_batch_size": "global_batch", "train_batch_size": "global_batch",
    "total train batch size (w. parallel, distributed & accumulation)": "global_batch",
    "instantaneous batch size per device": "micro_batch", "micro_batch_size": "micro_batch",
    "local batch size": "micro_batch", "train_micro_batch_size_per_gpu": "micro_batch",
    "seq_length": "sequence", "seq_len": "sequence", "sequence_length": "sequence",
    "max_target_length": "sequence", "actual_seqlen": "sequence",
    "world_size": "world", "num_devices": "world", "dp_world_size": "data",
    "data_parallel_size": "data", "data parallel size": "data",
    "tensor_model_parallel_size": "tensor", "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context", "expert_model_parallel_size": "expert",
    "expert_tensor_parallel_size": "expert_tensor",
    "virtual_pipeline_model_parallel_size": "virtual",
    "num_layers_per_virtual_pipeline_stage": "layers_per_chunk",
    "sequence_parallel": "sequence_parallel", "use_distributed_optimizer": "sharded_optimizer",
    "zero_stage": "zero_stage", "zero_optimization_stage": "zero_stage",
    "recompute_granularity": "recompute", "recompute_activations": "recompute_scores",
    "checkpoint_activations": "recompute_all", "use_flash_attn": "flash_attention",
    "attention_backend": "attention_backend",
    "num_layers": "layers", "n_layers": "layers", "hidden_size": "hidden", "dim": "hidden",
    "num_attention_heads": "heads", "n_heads": "heads",
    "num_query_groups": "groups", "n_kv_heads": "groups",
    "group_query_attention": "grouped", "kv_channels": "head_size",
    "ffn_hidden_size": "feed_forward", "swiglu": "gated", "glu_activation": "glu",
    "padded_vocab_size": "vocabulary", "vocab_size": "own_vocabulary",
    "untie_embeddings_and_output_weights": "untied", "add_bias_linear": "biased",
    "disable_bias_linear": "unbiased", "add_qkv_bias": "query_bias",
    "normalization": "normalization", "qk_layernorm": "query_key_norm",
    "position_embedding_type": "position_type", "max_position_embeddings": "positions",
    "num_experts": "experts", "moe_router_topk": "active_experts",
    "moe_ffn_hidden_size": "expert_feed_forward",
    "moe_shared_expert_intermediate_size": "shared_width",
    "multi_latent_attention": "latent_attention",
}  # fmt: skip
_PLAIN = {re.sub(r"_", " ", name): called for name, called in _KEYS.items()}
_SETTING = re.compile(
    r"(?<![\w/.-])(?P<key>"
    + "|".join(re.escape(name) for name in sorted(_PLAIN, key=len, reverse=True))
    + r")(?:(?: ?\.{2,}|:)[ .:]*(?P<value>-?[\w.+-]{1,40})| (?P<number>\d{1,12}\b))",
    re.IGNORECASE,
)
# Words before a key that make it another one: "DP world size", "encoder seq length".
_OTHERS = re.compile(
    r"\b(?:dp|tp|pp|cp|ep|data|parallel|tensor|pipeline|local|group|node|encoder|decoder|retriever"
    r"|per|micro|head|eval|test|valid\w*|max|min|moe|original|orig|teacher|draft|vision|image)$",
    re.IGNORECASE,
)
_WORD = 24  # characters before a key in which such a word ends
_PADDED = re.compile(r"padded vocab .{0,120}\(new size: (\d{1,9})\)")
# As torchtitan prints its mesh: ['dp_shard', 'tp'], [4, 2].
_MESH = re.compile(r"-D device mesh with \[([\w', ]{1,80})\], \[([\d, ]{1,60})\]")
_OF_MESH = {"tp": "tensor", "pp": "pipeline", "cp": "context", "dp_shard": "shards", "dp": "shards"}
_MODEL = re.compile(r"\bBuilding (llama\d(?:\.\d)? \d{1,4}B)\b", re.IGNORECASE)
_GPU = re.compile(r"(?:capacity:|hardware:|device_name\W+|Device name:?|^\W{0,3}GPU:)\s*(.{3,80})", re.IGNORECASE)
_AFTER_NAME = re.compile(r" with |[,;'\")(|]")
_TITAN = re.compile(r"\bcapacity:|\bPeak FLOPS|-D device mesh|\bBuilding llama", re.IGNORECASE)
_PEAK = re.compile(r"Peak FLOPS used for computing MFU:\s*(\d[\d.]{0,20}e[+-]?\d{1,3})", re.I)
_EIGHT_BITS = re.compile(
    r"\bfp8(?:_\w+)?[ .:='\"]+(?:hybrid|e4m3|true|delayed|tensorwise|blockwise|mxfp8)", re.IGNORECASE
)
# Words without which a line is of no use.
_WORDS = (
    "batch", "seq", "max_target", "world", "devices", "capacity", "hardware", "evice", "GPU:",
    "fp8", "parallel", "layers", "hidden", "Building", "heads", "groups", "vocab", "swiglu", "Peak",
    "untie", "bias", "norm", "position", "experts", "moe_", "stage", "checkpoint", "recompute",
    "flash", "attention", "channels", "zero", "distributed",
)  # fmt: skip


@dataclass(slots=True)
class LogSettings:
    """What a run says of itself. What is said in two ways is of no use, and is named."""

    values: dict[str, str] = field(default_factory=dict)
    contradicted: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    gpu: str = ""
    model: str = ""
    peak: float | None = None  # by which the log divides
    eight_bits: bool = False
    printed_by: set[str] = field(default_factory=set)  # families with such lines
    _said: dict[str, str] = field(default_factory=dict)  # by the name that was printed

    def __bool__(self) -> bool:
        return bool(self.values or self.gpu or self.model or self.peak or self.eight_bits)

    def count(self, name: str) -> int:
        """The number called *name*; 0 if it is not said, or in two ways."""
        text = self.text(name).removesuffix(".0")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0  # noqa: PLR2004 (digits)

    def text(self, name: str) -> str:
        """The word called *name*; empty if it is not said, or in two ways."""
        return "" if name in self.contradicted else self.values.get(name, "")

    def says(self, name: str) -> bool | None:
        """Whether *name* is on; None if it is not said."""
        return {"true": True, "false": False}.get(self.text(name).lower())

    def keep(self, key: str, value: str) -> None:
        """Note that *key* was printed with *value*."""
        name = _PLAIN[key]
        before = self._said.setdefault(key, value)
        if before != value:
            self.contradicted.setdefault(name, (key, before, value))
        self.values.setdefault(name, value)

    def differs(self, other: "LogSettings") -> bool:
        """Whether the same argument has another value in *other*."""
        same = self._said.keys() & other._said.keys()
        named = bool(self.gpu and other.gpu and self.gpu != other.gpu)
        return named or any(self._said[key] != other._said[key] for key in same)

    def merge(self, other: "LogSettings") -> None:
        """Add what *other* says and this does not."""
        for key, value in other._said.items():
            self.keep(key, value)
        for name, value in other.values.items():
            self.values.setdefault(name, value)
        self.gpu, self.model = self.gpu or other.gpu, self.model or other.model
        self.peak, self.eight_bits = self.peak or other.peak, self.eight_bits or other.eight_bits
        self.printed_by |= other.printed_by


def read_settings(line: str) -> LogSettings | None:
    """What *line* says of a run; None if nothing."""
    if not any(word in line for word in _WORDS):
        return None
    found = LogSettings()
    plain = plain_line(line)
    for match in _SETTING.finditer(plain):
        first = match.start()
        if not _OTHERS.search(plain[max(0, first - _WORD) : first].rstrip()):
            found.keep(match["key"].lower(), (match["value"] or match["number"]).rstrip("."))
    if found.values and "...." in line:
        found.printed_by.add("megatron")
    _read_special(found, line)
    if found and _TITAN.search(line):
        found.printed_by.add("torchtitan")
    return found if found else None


def _read_special(found: LogSettings, line: str) -> None:
    if padded := _PADDED.search(line):
        found.values["vocabulary"] = padded[1]
    if mesh := _MESH.search(line):
        names, sizes = (re.findall(r"\w+", text) for text in mesh.groups())
        for name, size in zip(names, sizes, strict=False):
            found.values.setdefault(_OF_MESH.get(name, name), size[:7])
    if model := _MODEL.search(line):
        found.model = model[1]
    if gpu := _GPU.search(line):
        found.gpu = _AFTER_NAME.split(gpu[1])[0].strip()
    if peak := _PEAK.search(line):
        found.peak = number_checks.read_number(peak[1])
    found.eight_bits = bool(_EIGHT_BITS.search(line))
