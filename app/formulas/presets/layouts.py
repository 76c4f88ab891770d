"""Layouts of runs over their GPUs, and recipes: the bytes of each kind of number."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Self

from app.formulas.checks import Recompute, ZeroStage, at_least, one_of, positive, whole
from app.formulas.records import Record
from app.units import Bytes, Count


@dataclass(frozen=True, kw_only=True)
class Layout(Record):
    """The degree of each kind of parallelism, and the batch of a step.

    The product of the degrees without *expert* is the number of GPUs: experts are spread over data
    and context parallel ranks. A step has *microbatches* micro-batches of *micro_batch* sequences
    on each data parallel rank.
    """

    what: ClassVar[str] = "layout"

    name: str = "as given"
    tensor: Count = 1
    pipeline: Count = 1
    context: Count = 1
    expert: Count = 1
    data: Count = 1
    virtual: Count = 1
    microbatches: Count = 1
    micro_batch: Count = 1
    sequence: Count = 8192
    zero_stage: ZeroStage = 1
    recompute: Recompute = "selective"
    sequence_parallel: bool = True
    source: str = "as given"

    def __post_init__(self) -> None:
        for name in (
            "tensor", "pipeline", "context", "expert", "data", "virtual", "microbatches",
            "micro_batch", "sequence",
        ):  # fmt: skip
            whole(name, getattr(self, name))
        one_of("zero_stage", self.zero_stage, (0, 1, 2, 3))
        one_of("recompute", self.recompute, ("none", "selective", "full"))
        one_of("sequence_parallel", self.sequence_parallel, (False, True))
        if self.context * self.data % self.expert:
            raise ValueError(
                f"expert must divide the data and context parallel ranks,"
                f" {self.context * self.data}, not {self.expert}"
            )
        if self.virtual > 1 and self.microbatches % self.pipeline:
            raise ValueError(
                f"microbatches must be a multiple of the pipeline's stages, {self.pipeline}, when"
                f" chunks interleave, not {self.microbatches}"
            )

    @property
    def gpus(self) -> int:
        """GPUs of the whole run."""
        return self.tensor * self.pipeline * self.context * self.data

    @property
    def shards(self) -> int:
        """Ranks that hold the same weights, over which ZeRO shards."""
        return self.context * self.data

    @property
    def tokens(self) -> int:
        """Tokens of one step."""
        return self.data * self.microbatches * self.micro_batch * self.sequence

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return LAYOUTS  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True)
class Recipe(Record):
    """Bytes of a weight, of its gradient, of its optimizer state, and of an activation."""

    what: ClassVar[str] = "recipe"

    name: str = "as given"
    weight_bytes: Bytes = 2.0
    gradient_bytes: Bytes = 2.0
    optimizer_bytes: Bytes = 12.0
    element_bytes: Bytes = 2.0
    source: str = "as given"

    def __post_init__(self) -> None:
        positive("weight_bytes", self.weight_bytes)
        at_least("gradient_bytes", self.gradient_bytes, 0)
        at_least("optimizer_bytes", self.optimizer_bytes, 0)
        positive("element_bytes", self.element_bytes)

    @classmethod
    def known(cls) -> "Mapping[str, Self]":
        """The records in this module, by name."""
        return RECIPES  # type: ignore[return-value]


_TABLE_4 = (
    "Grattafiori et al., The Llama 3 Herd of Models, arXiv:2407.21783, table 4; 8 chunks per device"
    " follow from section 3.3.2, where a chunk that loses one layer has only the embedding left"
)
_LAYOUTS = (
    Layout(
        name="Llama 3 405B on 8192 GPUs", tensor=8, pipeline=16, data=64, microbatches=32,
        virtual=8, zero_stage=2, source=_TABLE_4,
    ),
    Layout(
        name="Llama 3 405B on 16384 GPUs", tensor=8, pipeline=16, data=128, microbatches=16,
        virtual=8, zero_stage=2, source=_TABLE_4,
    ),
    Layout(
        name="Llama 3 405B, 128K tokens", tensor=8, pipeline=16, context=16, data=8,
        microbatches=16, virtual=8, sequence=131_072, zero_stage=2, source=_TABLE_4,
    ),
    Layout(
        name="DeepSeek-V3 on 2048 GPUs", pipeline=16, expert=64, data=128, microbatches=120,
        sequence=4096, zero_stage=1, sequence_parallel=False,
        source="DeepSeek-V3 Technical Report, arXiv:2412.19437, sections 3.2 and 4.2, as 1F1B",
    ),
)  # fmt: skip
LAYOUTS: Mapping[str, Layout] = MappingProxyType({known.name: known for known in _LAYOUTS})

_RECIPES = (
    Recipe(name="mixed", source="Rajbhandari et al., ZeRO, arXiv:1910.02054, section 3.1: 16"),
    Recipe(
        name="mixed, FP32 gradients", gradient_bytes=4.0,
        source="Grattafiori et al., arXiv:2407.21783, section 3.3.2: 18 bytes per parameter",
    ),
    Recipe(name="no master copy", optimizer_bytes=8.0, source="BF16 weights updated in place: 12"),
    Recipe(
        name="FP32", weight_bytes=4.0, gradient_bytes=4.0, optimizer_bytes=8.0, element_bytes=4.0,
        source="Kingma and Ba, Adam, arXiv:1412.6980: 16",
    ),
)  # fmt: skip
RECIPES: Mapping[str, Recipe] = MappingProxyType({known.name: known for known in _RECIPES})
