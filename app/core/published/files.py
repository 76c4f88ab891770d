"""What a source's file looks like; a row is a line of a table as it was printed."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.core.formulas.presets.layouts import Again, ContextBy, Precision
from app.core.published.rows import PrintedNumbers
from app.core.units import scale_of

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
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


class TableInFile(BaseModel):
    """The table or file of a row, whose key begins with its name here."""

    model_config = _STRICT

    name: str
    address: str


class SourceInFile(BaseModel):
    """A source, as written in its file; *rows* hold a value for each of the *columns*."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    title: str
    about: str
    license: str
    tables: Mapping[str, TableInFile]
    counts: Literal["", "causal", "recomputed"] = ""
    assumes: tuple[str, ...] = ()
    recipe: str
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
    """*value* of that unit, in the base unit."""
    return (value or 0.0) * scale_of(symbol).factor
