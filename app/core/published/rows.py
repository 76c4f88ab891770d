"""A published run: what was run, on what, what was printed of it, and the file of its source."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.formulas.presets import GPUS, Cluster, Layout, ModelShape, Recipe, Stack
from app.core.formulas.presets.layouts import Again, ContextBy, Precision
from app.core.formulas.transformer import active_parameters, step_flops, token_flops
from app.core.units import Bytes, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds, scale_of

_TRILLION = 10**12
_HOUR = 3600.0


_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class SourceTable(BaseModel):
    """The table or file that rows were taken from; their keys begin with its name in the file."""

    model_config = _STRICT

    name: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source of rows; *assumes*: what its rows leave open, and how it is read here.

    *recipe* are the bytes of each kind of number in its runs, None for those of its stack; *counts* is how it counts
    FLOP.
    """

    id: str
    title: str
    about: str
    license: str
    assumes: tuple[str, ...]
    recipe: Recipe | None
    counts: str = ""


@dataclass(frozen=True, slots=True)
class PublishedMachine:
    """A machine as the source calls it, and as the formulas know it."""

    name: str
    cluster: Cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedNumbers:
    """The numbers that a source prints of a run; 0 where it prints none.

    *token_rate* and *rate* are per GPU; *gpu_hours* are those of the whole run of *run_tokens*.
    """

    seconds: Seconds = 0.0
    token_rate: PerSecond = 0.0
    rate: FlopsPerSecond = 0.0
    utilization: Ratio = 0.0
    memory: Bytes = 0.0
    hours_per_trillion: float = 0.0
    gpu_hours: float = 0.0
    run_tokens: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRun:
    """A row of a source; *apart* is what sets it apart from what the formulas describe.

    Without a *shape* or a *layout* it is not predicted, and *unknown* says why.
    """

    id: str
    source: Source
    stack: Stack
    table: SourceTable
    place: str
    model: str
    shape: ModelShape | None
    machine: PublishedMachine
    layout: Layout | None
    precision: str
    release: str
    note: str
    batch: int
    sequence: int
    printed: PrintedNumbers
    apart: tuple[str, ...]
    unknown: str = ""

    @property
    def gpus(self) -> int:
        """GPUs of the run."""
        return self.machine.cluster.gpus

    @property
    def tokens(self) -> int:
        """Tokens of a step."""
        return self.batch * self.sequence

    @property
    def kind(self) -> str:
        """Its stack, whether that was compiled, and the bits of its products."""
        compiled = {"yes": ", compiled", "no": ", eager"}.get(self.stack.compiled, "")
        bits = "16 bits" if self.precision in ("BF16", "FP16") else "8 and 4 bits"
        return f"{self.stack.name}{compiled if self.stack.is_pytorch else ''}, {bits}"

    @property
    def calibrates(self) -> tuple[str, ...]:
        """The GPUs whose presets have numbers from this paper, which then does not test them."""
        paper = self.table.address.removeprefix("https://arxiv.org/abs/")
        return tuple(dict.fromkeys(gpu.name for gpu in GPUS.values() if paper in gpu.source))

    @property
    def step_time(self) -> Seconds:
        """The measured time of a step, from the first of the numbers that tell it; 0 if none."""
        printed = self.printed
        if printed.seconds:
            return printed.seconds
        if printed.token_rate:
            return self.tokens / (printed.token_rate * self.gpus)
        if printed.hours_per_trillion:
            spent = printed.hours_per_trillion * _HOUR / self.gpus
            return spent * self.tokens / _TRILLION
        if printed.rate and self.shape:
            return self._flops(self.shape) / (printed.rate * self.gpus)
        return 0.0

    def _flops(self, shape: ModelShape) -> Flops:
        """FLOP of a step, counted as the source does."""
        if self.source.counts == "recomputed":
            return step_flops(self.batch, self.sequence, shape.layers, shape.hidden, shape.vocabulary, "full")
        return self.tokens * token_flops(
            active_parameters(shape), shape.layers, shape.heads, shape.head_size, self.sequence, causal=True
        )


_DEGREES = ("tensor", "pipeline", "virtual", "context", "expert", "data")


def layout_degrees(layout: Layout) -> Mapping[str, int]:
    """The degrees of a layout that are not 1, by the kind of parallelism."""
    named = {name: getattr(layout, name) for name in _DEGREES}
    return {name: degree for name, degree in named.items() if degree > 1}


# The columns from which the time of a step follows, whatever the model.
MEASURES = ("seconds", "tokens_per_second", "tokens_per_second_of_all", "hours_per_trillion")

Degree = Annotated[int, Field(ge=1)]
Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class MachineInFile(BaseModel):
    """A machine; the GPU is a known name, with some fields changed."""

    model_config = _STRICT

    gpu: str
    gpus_per_node: Degree
    intra_bandwidth: str
    inter_bandwidth: str


class SourceInFile(BaseModel):
    """A source, as written in its file; *rows* hold a value for each of the *columns*."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    title: str
    about: str
    license: str
    tables: Mapping[str, SourceTable]
    counts: Literal["", "causal", "recomputed"] = ""
    assumes: tuple[str, ...] = ()
    recipe: str = ""
    stack: str = ""
    models: Mapping[str, str]
    unknown: Mapping[str, str] = {}
    machines: Mapping[str, MachineInFile]
    reasons: Mapping[str, str] = {}
    common: Mapping[str, object] = {}
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[object, ...]]


Operands = Literal["FP16", "BF16", "FP8", "FP8 tensorwise", "FP8 rowwise", "MXFP8", "NVFP4"]
_BITS: Mapping[str, Precision] = {"FP16": "16-bit", "BF16": "16-bit", "NVFP4": "4-bit"}


class RowInFile(BaseModel):
    """A row, in the units of its source: TFLOP/s, percent, GiB, hours."""

    model_config = _STRICT

    model: str
    machine: str
    gpus: Degree
    release: str
    precision: Operands
    batch: Degree
    micro_batch: Degree
    sequence: Degree
    tensor: Degree
    pipeline: Degree = 1
    context: Degree = 1
    context_by: ContextBy = "all-gather"
    virtual: Degree = 1
    expert: Degree = 1
    expert_tensor: int = 0
    shard_ranks: int = 0
    stack: str = ""
    zero_stage: Literal[0, 1, 2, 3]
    recompute: Again
    sequence_parallel: bool = True
    note: str = ""
    apart: list[str] = []
    seconds: Number | None = None
    tokens_per_second: Number | None = None
    tokens_per_second_of_all: Number | None = None
    hours_per_trillion: Number | None = None
    teraflops: Number | None = None
    mfu: Number | None = None
    memory: Number | None = None
    gpu_hours: Number | None = None
    trillion_tokens: Number | None = None

    @property
    def operands(self) -> Precision:
        """The bits of what its products multiply."""
        return _BITS.get(self.precision, "8-bit")

    @property
    def printed(self) -> PrintedNumbers:
        """What was printed, in base units."""
        rate = self.tokens_per_second or (self.tokens_per_second_of_all or 0.0) / self.gpus
        return PrintedNumbers(
            seconds=self.seconds or 0.0,
            token_rate=rate,
            rate=_in("TFLOP/s", self.teraflops),
            utilization=_in("%", self.mfu),
            memory=_in("GiB", self.memory),
            hours_per_trillion=self.hours_per_trillion or 0.0,
            gpu_hours=self.gpu_hours or 0.0,
            run_tokens=1e12 * (self.trillion_tokens or 0.0),
        )


def _in(symbol: str, value: float | None) -> float:
    return (value or 0.0) * scale_of(symbol).factor
