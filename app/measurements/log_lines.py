"""The lines of training logs: which family prints them, which step, and the numbers on them."""

import re
from dataclasses import dataclass, field
from datetime import datetime

MOST_STEPS = 200_000
_COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?")
_NUMBER = r"(\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?|\.\d{1,20})"
_N = r"[:=]?\s{0,20}" + _NUMBER
FAMILIES = {
    "torchtitan": re.compile(r"\bstep:\s*(\d{1,15})\s+loss:"),
    "maxtext": re.compile(r"\bcompleted step:\s*(\d{1,15})"),
    "deepspeed": re.compile(
        r"\bglobal_step=(\d{1,15}), *RunningAvgSamplesPerSec|\bstop\] +(?:\d{1,15}/)?(\d{1,15}), *"
        r"(?:RunningAvg)?SamplesPerSec|\bsteps: *(\d{1,15}) +loss:|\bstep=(\d{1,15}), skipped="
    ),
    "megatron": re.compile(
        r"\biteration:?\s+(\d{1,15})\s*/\s*(?:\d+|infinity)"
        r"|\bglobal_step[:=] *(\d{1,15})(?:\.0)?\b(?=.{0,400}train_step_timing)"
    ),
}
_TERA, _MILLI = 1e12, 1e-3
# For each number: a word without which it is not on a line, how it is printed, and its unit.
_FIELDS: dict[str, tuple[tuple[str, str, float], ...]] = {
    "step_time": (
        ("elapsed", r"elapsed time per iteration \(ms\)" + _N, _MILLI),
        ("elapsed", r"elapsed time per iteration(?: \(s\))?" + _N, 1.0),
        ("train_step", r"train_step_timing(?: in s)?" + _N, 1.0),
        ("iter time", r"\biter time \(s\)" + _N, 1.0),
        ("seconds", r"\bseconds" + _N, 1.0),
        ("step time", r"\bStep Time {0,9}" + _N + r" ?s\b", 1.0),
        ("end_to_end", r"time_metrics/end_to_end\(s\)\W{0,9}" + _N, 1.0),
    ),
    "flops_per_gpu": (
        ("tflop/s/gpu", r"throughput per GPU \(TFLOP/s/GPU\)" + _N, _TERA),
        ("approx flops", r"approx flops per GPU" + _N + r"\s?TFLOPS", _TERA),
        ("tflop/s", r"TFLOP/s(?:/device|/GPU)?" + _N, _TERA),
        ("gpu utilization", r"\bGPU utilization" + _N + r"\s?MODEL_TFLOP", _TERA),
        ("model_tflop", _NUMBER + r" ?MODEL_TFLOP/s/GPU", _TERA),
        ("tflops_per_", r"\btflops_per_(?:sec_per_)?gpu" + _N, _TERA),
        ("tflops", r"\btflops(?:/s)?(?:[ /_]{0,2}(?:per[ _]|/)?(?:gpu|device))?" + _N, _TERA),
    ),
    "tokens_per_second_per_gpu": (
        ("(tgs)", r"\btokens per gpu per second \(tgs\)" + _N, 1.0),
        ("per gpu", r"\btokens per gpu per second" + _N, 1.0),
        ("per_gpu", r"tokens?_per_sec\w{0,3}_per_gpu" + _N, 1.0),
        ("per sec", r"tokens? per second per gpu" + _N, 1.0),
        ("/gpu)", r"\(tokens?/s(?:ec)?/GPU\)" + _N, 1.0),
        ("tokens/s", r"\btokens?/s(?:ec)?/(?:device|gpu)" + _N, 1.0),
        ("tok", _NUMBER + r" ?tok(?:ens)?/s(?:ec)?/gpu", 1.0),
        ("ps:", r"\b(?:tps|wps)" + _N, 1.0),
        ("tgs", r"\btgs" + _N, 1.0),
    ),
    "samples_per_second": (
        ("currsamples", r"\bCurrSamplesPerSec" + _N, 1.0),
        ("samplespersec", r"\bSamplesPerSec" + _N, 1.0),
        ("samples", r"\bsamples(?: per second|/sec)" + _N, 1.0),
    ),
    "mfu": (
        ("mfu", r"\bmfu(?: \(%\))?" + _N + r" ?%", 0.01),
        ("mfu", r"\bmfu[:=] ?(0?\.\d{1,20})\b(?! ?%)", 1.0),
    ),
    "global_batch": (("batch", r"\bglobal[ _]batch[ _]size" + _N, 1.0),),
}
_PATTERNS = {
    name: [(word, re.compile(pattern, re.IGNORECASE), scale) for word, pattern, scale in forms]
    for name, forms in _FIELDS.items()
}
# Settings that are printed once, before the steps.
_SETTINGS = {
    "global_batch": re.compile(
        r"\b(?:global_batch_size|train_batch_size|global batch size)\b[ .:=]*(\d{1,9})\b"
    ),
    "sequence": re.compile(
        r"\b(?:seq_(?:length|len)|sequence[_ ]length|max_target_length)\b[ .:=]*(\d{1,9})\b"
    ),
    "world": re.compile(r"\b(?:world_size|world size|num_devices)\b[ .:=]*(\d{1,7})\b"),
    "tensor": re.compile(r"\btensor_model_parallel_size\b[ .:=]*(\d{1,5})\b"),
    "pipeline": re.compile(r"\bpipeline_model_parallel_size\b[ .:=]*(\d{1,5})\b"),
    "context": re.compile(r"\bcontext_parallel_size\b[ .:=]*(\d{1,5})\b"),
    "expert": re.compile(r"\bexpert_model_parallel_size\b[ .:=]*(\d{1,5})\b"),
    "micro_batch": re.compile(r"\bmicro_batch_size\b[ .:=]*(\d{1,5})\b"),
    "layers": re.compile(r"\bnum_layers\b[ .:=]*(\d{1,5})\b"),
    "hidden": re.compile(r"\bhidden_size\b[ .:=]*(\d{1,6})\b"),
}
# As torchtitan prints its mesh: ['dp_shard', 'tp'], [4, 2].
_MESH = re.compile(r"-D device mesh with \[([\w', ]{1,80})\], \[([\d, ]{1,60})\]")
_OF_MESH = {"tp": "tensor", "pp": "pipeline", "cp": "context", "dp_shard": "shards", "dp": "shards"}
_MODEL = re.compile(r"\bBuilding (llama\d(?:\.\d)? \d{1,4}B)\b", re.IGNORECASE)
_GPU = re.compile(
    r"(?:capacity:|hardware:|device_name\W+|Device name:?)\s*(.{3,80})", re.IGNORECASE
)
_AFTER_NAME = re.compile(r" with |[,;'\")(]")
_EIGHT_BITS = re.compile(
    r"\bfp8(?:_\w+)?[ .:='\"]+(?:hybrid|e4m3|true|delayed|tensorwise|blockwise|mxfp8)",
    re.IGNORECASE,
)
# Words without which a line is of no use, and those of settings.
_WORDS = ("iteration", "step", "Step", "PerSec")
_ALL_WORDS = (
    *_WORDS, "batch", "seq", "max_target", "world", "devices", "capacity", "hardware", "evice",
    "fp8", "parallel", "num_layers", "hidden_size", "Building",
)  # fmt: skip
_SERIES = re.compile(r"train_step_timing in s: *\[([\d., ]+)\]")
_LARGEST = 1e18


@dataclass(slots=True)
class LoggedStep:
    """One step as it was logged, in base units."""

    number: int
    at: float | None
    values: dict[str, float]


@dataclass(slots=True)
class LogReader:
    """Takes the lines of a text one by one. Every rank may print the same step."""

    family: str = ""
    steps: dict[int, LoggedStep] = field(default_factory=dict)
    unnumbered: list[LoggedStep] = field(default_factory=list)  # lines that do not say which step
    settings: dict[str, int] = field(default_factory=dict)
    gpu: str = ""
    model: str = ""
    eight_bits: bool = False
    left_out: int = 0
    coarse: bool = True  # the clock has whole seconds

    def take(self, line: str) -> bool:
        """Read *line*; whether it was that of a step."""
        if not any(word in line for word in (_WORDS if self.steps else _ALL_WORDS)):
            return False
        line = _COLOR.sub("", line)
        found = next(
            ((name, match) for name, form in FAMILIES.items() if (match := form.search(line))), None
        )
        if found is None:
            return self._take_unnumbered(line) or self._take_setting(line)
        family, match = found
        self.family = self.family or family
        number = int(next(group for group in match.groups() if group))
        if number not in self.steps and len(self.steps) >= MOST_STEPS:
            self.left_out += 1
            return True
        step = self.steps.setdefault(number, LoggedStep(number, self._clock(line), {}))
        for name, value in step_values(line).items():
            step.values.setdefault(name, value)
        return True

    def _take_unnumbered(self, line: str) -> bool:
        if series := _SERIES.search(line):
            times = [word for word in series[1].split(",") if word.strip()]
            self.unnumbered += [
                LoggedStep(0, None, {"step_time": value})
                for word in times
                if (value := _number(word))
            ]
        elif "Step Time" in line and len(self.unnumbered) < MOST_STEPS:
            self.unnumbered.append(LoggedStep(0, self._clock(line), step_values(line)))
        else:
            return False
        return True

    def _take_setting(self, line: str) -> bool:
        if self.steps:  # settings are printed before the steps
            return False
        for name, form in _SETTINGS.items():
            if match := form.search(line):
                self.settings.setdefault(name, int(match[1]))
        if mesh := _MESH.search(line):
            names, sizes = (re.findall(r"\w+", text) for text in mesh.groups())
            for name, size in zip(names, sizes, strict=False):
                self.settings.setdefault(_OF_MESH.get(name, name), int(size[:7]))
        if not self.model and (model := _MODEL.search(line)):
            self.model = model[1]
        if not self.gpu and (gpu := _GPU.search(line)):
            self.gpu = _AFTER_NAME.split(gpu[1])[0].strip()
        self.eight_bits = self.eight_bits or bool(_EIGHT_BITS.search(line))
        return False

    def _clock(self, line: str) -> float | None:
        """When the line was written, in seconds."""
        if not (stamp := _STAMP.search(line)):
            return None
        try:
            whole = datetime.fromisoformat(f"{stamp[1]}T{stamp[2]}+00:00").timestamp()
        except ValueError:  # no such day
            return None
        self.coarse = self.coarse and not stamp[3]
        return whole + float(f"0.{stamp[3] or 0}")


def step_values(line: str) -> dict[str, float]:
    """The numbers on a line of a step, by name."""
    found, lowered = {}, line.lower()
    for name, forms in _PATTERNS.items():
        for word, form, scale in forms:
            if word not in lowered or not (match := form.search(line)):
                continue
            if (value := _number(match[1])) is not None:
                found[name] = value * scale
                break
    return found


def _number(text: str) -> float | None:
    try:
        value = float(text.strip().replace(",", ""))
    except ValueError:
        return None
    return value if 0 < value < _LARGEST else None
