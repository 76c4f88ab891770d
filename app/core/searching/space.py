"""The space of a search: every degree that divides what it splits, but for fields that are fixed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple, cast

from app.core.formulas.checks import AttentionKernels, nearest_of, recorded, whole
from app.core.formulas.parallelism import PLAIN, WITHOUT_A_LAYER, Degrees, Numbers, Whole, expert_split
from app.core.formulas.presets import GIVEN, Cluster, Layout, ModelShape, Recipe, Shares, Stack
from app.core.formulas.presets.layouts import Precision
from app.core.formulas.records import Single, field_value, hints_of
from app.core.formulas.step.speeds import ReducedBytes, Speeds, attention_kernels, speeds_of, stack_speeds
from app.core.translation import noted, offer, say, value_error
from app.core.units import Count

MOST_GPUS, MOST_SEQUENCES, MOST_LAYERS, MOST_EXPERTS = 2**20, 2**24, 2**16, 2**16
BATCH = noted("the batch divides into data-parallel ranks and micro-batches")
RECOMPUTE = ("none", "selective", "full")
RECOMPUTE_FUSED = ("selective", "full")  # none is the same as selective
SEARCHED = (
    "tensor", "pipeline", "context", "data", "expert", "virtual", "micro_batch", "recompute", "sequence_parallel",
    "zero_stage",
)  # fmt: skip
_DIVIDING = ("tensor", "pipeline", "context", "data")  # their product is the number of GPUs
CONSTANT = ("expert_tensor", "shard_ranks", "first_layers", "last_layers", "precision", "context_by")


class Terms(NamedTuple):
    """What all layouts have in common: speeds, bytes that are sent, the recipe of the memory."""

    speeds: Speeds
    sent: ReducedBytes
    recipe: Recipe


class Grid(NamedTuple):
    """Degrees whose product is the number of GPUs, and the experts' degree; or columns of them."""

    tensor: Whole
    pipeline: Whole
    context: Whole
    data: Whole
    expert: Whole


class Variants(NamedTuple):
    """What does not change how the GPUs are divided: all combinations of these."""

    passes: tuple[tuple[str, bool], ...]  # recomputation, and sequence parallelism
    stages: tuple[int, ...]  # of ZeRO


@dataclass(frozen=True, kw_only=True)
class Space:
    """Every layout of *model* on *cluster* with *batch* sequences in a step.

    *fixed* are fields of Layout that are not searched, with their values; *shares* or
    the *stack* say which kernels attention has.

    Raises:
        ValueError: the cluster or the batch is too large to search, or a fixed degree does not divide what it splits.
    """

    model: ModelShape
    cluster: Cluster
    batch: int
    sequence: int
    fixed: Mapping[str, Single] = field(default_factory=dict)
    shares: Shares = GIVEN
    stack: Stack | None = None
    _known: dict[tuple[bool, bool], Variants] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        recorded("model", self.model, ModelShape)
        recorded("cluster", self.cluster, Cluster)
        whole("sequence", self.sequence)
        _at_most(noted("GPUs in the cluster"), self.cluster.gpus, MOST_GPUS)
        _at_most(noted("layers of the model"), self.model.layers, MOST_LAYERS)
        _at_most(noted("experts of the model"), self.model.experts, MOST_EXPERTS)
        _at_most(noted("sequences per step"), whole("batch", self.batch), MOST_SEQUENCES)
        for name in _DIVIDING:
            self._must_divide(name, self.cluster.gpus, noted("GPUs"))
        self._must_divide("micro_batch", self.batch, noted("sequences per step"))
        together = math.prod(self._fixed(name) for name in _DIVIDING)
        if self.cluster.gpus % together:
            form = noted("the fixed degrees take {together} GPUs together, which do not divide {gpus}")
            raise value_error(form, together=f"{together:,}", gpus=f"{self.cluster.gpus:,}")

    def _must_divide(self, name: str, total: int, what: str) -> None:
        value = self._fixed(name)
        if total % value:
            below = [one for one in divisors(total) if one < value][-1:]
            above = [one for one in divisors(total) if one > value][:1]
            form = noted("{name} is fixed at {value}, which does not divide the {total} {what}; {nearest}")
            near = nearest_of((*below, *above))
            raise value_error(form, name=name, value=value, total=f"{total:,}", what=what, nearest=near)

    def _fixed(self, name: str, default: int = 1) -> int:
        return int(self.fixed.get(name, default))

    def grids(self) -> Iterator[Grid]:
        """The ways to divide the GPUs, and the experts."""
        experts = self._experts()
        for tensor, pipeline, context, data in self._dense():
            for expert in experts:
                yield Grid(tensor, pipeline, context, data, expert)

    def _dense(self) -> Iterator[tuple[int, int, int, int]]:
        for tensor in self._degrees("tensor", self.cluster.gpus):
            rest = self.cluster.gpus // tensor
            for pipeline in self._degrees("pipeline", rest):
                left = rest // pipeline
                for context in self._degrees("context", left):
                    data = left // context
                    if self._fixed("data", data) == data:
                        yield tensor, pipeline, context, data

    def _degrees(self, name: str, total: int) -> Sequence[int]:
        if name in self.fixed:
            return () if total % self._fixed(name) else (self._fixed(name),)
        return divisors(total)

    def _experts(self) -> Sequence[int]:
        if "expert" in self.fixed:
            return (self._fixed("expert"),)
        return divisors(max(1, self.model.experts))

    def chunks(self, pipeline: int) -> Sequence[int]:
        """Chunks per stage: one, and every number of equal chunks, with the ends of the model as layers or without."""
        if "virtual" in self.fixed:
            return (self._fixed("virtual"),)
        if pipeline == 1:
            return (1,)
        given = self._fixed("first_layers", 0) + self._fixed("last_layers", 0)
        return _chunks(self.model.layers, pipeline, given > 0)

    def micro_batches(self, data: int) -> Sequence[int]:
        """Sequences per micro-batch; 1, which is not legal, if the batch does not divide."""
        if "micro_batch" in self.fixed:
            return (self._fixed("micro_batch"),)
        return (1,) if self.batch % data else divisors(self.batch // data)

    def microbatches(self, data: int, micro_batch: int) -> int:
        """Micro-batches of a rank, or 0 if the batch does not divide."""
        count, rest = divmod(self.batch, data * micro_batch)
        return 0 if rest else count

    def variants(self, grid: Grid) -> Variants:
        """The variants of *grid*, without those that are the same on one rank."""
        return self._variants(grid.tensor, grid.data * grid.context)

    def _variants(self, tensor: int, shards: int) -> Variants:
        key = tensor > 1, shards == 1 and not self.model.experts
        if key not in self._known:
            self._known[key] = self._made(*key)
        return self._known[key]

    def _made(self, is_split: bool, is_alone: bool) -> Variants:
        parallel: tuple[bool, ...] = (True, False) if is_split else (True,)
        stages: tuple[int, ...] = (0,) if is_alone else (0, 1, 2, 3)
        if "sequence_parallel" in self.fixed:
            parallel = (bool(self.fixed["sequence_parallel"]),)
        if "zero_stage" in self.fixed:
            stages = (self._fixed("zero_stage"),)
        searched = RECOMPUTE if self.kernels == "unfused" else RECOMPUTE_FUSED
        kept = (str(self.fixed["recompute"]),) if "recompute" in self.fixed else searched
        return Variants(tuple((one, other) for one in kept for other in parallel), stages)

    @property
    def size(self) -> int:
        """How many layouts there are, with those that a rule refuses."""
        count = 0
        for tensor, pipeline, context, data in self._dense():
            kinds = self._variants(tensor, data * context)
            each = len(kinds.passes) * len(kinds.stages) * len(self.chunks(pipeline))
            count += each * len(self.micro_batches(data))
        return count * len(self._experts())

    def degrees(self, name: str) -> Sequence[int]:
        """The values of a degree that divide the GPUs beside those that are fixed."""
        others = math.prod(self._fixed(key) for key in _DIVIDING if key != name)
        return self._degrees(name, self.cluster.gpus // others)

    @property
    def free(self) -> tuple[str, ...]:
        """The fields that are searched."""
        return tuple(name for name in SEARCHED if name not in self.fixed)

    def grid_degrees(self, grid: Grid, by: Numbers = PLAIN) -> Degrees:
        """The layouts of *grid*, which may have columns, with what is not searched."""
        shards = grid.context * grid.data
        given = self._fixed("expert_tensor", 0)
        return Degrees(
            tensor=grid.tensor,
            pipeline=grid.pipeline,
            context=grid.context,
            expert=grid.expert,
            data=grid.data,
            sequence=self.sequence,
            expert_tensor=expert_split(given, grid.tensor, shards, grid.expert, by),
            sharded=self._fixed("shard_ranks", 0) or shards,
            first=self._fixed("first_layers", 0),
            last=self._fixed("last_layers", 0),
            exchanged=int(self.fixed.get("context_by", "all-to-all") == "all-to-all"),
        )

    def layout(self, fields: Mapping[str, object]) -> Layout:
        """The layout of this space with *fields* that are searched."""
        constant = {name: self.fixed[name] for name in CONSTANT if name in self.fixed}
        return Layout.of({"sequence": self.sequence, **constant, **fields})

    @property
    def kernels(self) -> AttentionKernels:
        """Which kernels attention has."""
        if self.stack:
            return "fused" if self.speeds.fused else "unfused"
        return attention_kernels(self.model, self.cluster.gpu, self.shares)

    @cached_property
    def speeds(self) -> Speeds:
        """What kernels and links reach."""
        of = self.model, self.cluster, self.shares
        return stack_speeds(*of, self.stack, self.precision) if self.stack else speeds_of(*of, self.precision)

    @property
    def precision(self) -> Precision:
        """The operands of products."""
        return cast(Precision, self.fixed.get("precision", "16-bit"))


def passes_of(recompute: str, parallel: bool, kernels: AttentionKernels) -> Mapping[str, int]:
    """Recomputation and sequence parallelism as Degrees has them."""
    fused = kernels == "fused" and recompute == "none"
    return {
        "full": int(recompute == "full"),
        "selective": int(recompute == "selective" or fused),
        "operations": int(recompute == "operations"),
        "sequence_parallel": int(parallel),
    }


def _at_most(what: str, value: int, most: int) -> None:
    if value > most:
        form = noted("a search takes at most {most} {what}, not {value}")
        raise value_error(form, most=f"{most:,}", what=what, value=f"{value:,}")


@lru_cache(maxsize=4096)
def divisors(number: int) -> Sequence[int]:
    """Every divisor of *number*, from 1.

    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    low = [one for one in range(1, math.isqrt(number) + 1) if number % one == 0]
    high = (number // one for one in reversed(low) if one * one != number)
    return (*low, *high)


@lru_cache(maxsize=4096)
def _chunks(layers: int, pipeline: int, uneven: bool) -> Sequence[int]:
    most = (layers + WITHOUT_A_LAYER) // pipeline
    whole_chunks = (layers, layers + WITHOUT_A_LAYER)
    return (
        1,
        *(
            count
            for count in range(2, most + 1)
            if uneven or any(total % (pipeline * count) == 0 for total in whole_chunks)
        ),
    )


_ELSEWHERE = {
    "sequence": noted("the tokens of a sequence are given beside the batch"),
    "microbatches": noted("it follows from the batch; fix micro_batch or data"),
    "name": noted("it is not searched"),
    "source": noted("it is not searched"),
}


def fixed_fields(pairs: Sequence[str]) -> Mapping[str, Single]:
    """The fields of a layout in *pairs* such as `tensor=8`.

    Raises:
        ValueError: one is not such a pair, is not a field that a search may fix, or is given twice.
    """
    fixed: dict[str, Single] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not text:
            raise value_error("{text!r} fixes nothing: write a field and its value, as in tensor=8", text=pair)
        _check_fixable(name)
        if name in fixed:
            raise value_error("{name} is fixed twice", name=name)
        value = cast(Single, field_value(Layout, name, text))
        if hints_of(Layout)[name] == Count:
            whole(name, float(value), 0 if name in CONSTANT else 1)
        fixed[name] = value
    return fixed


def _check_fixable(name: str) -> None:
    known = (*SEARCHED, *CONSTANT)
    if name in known:
        return
    if name in _ELSEWHERE:
        raise value_error("{name} cannot be fixed: {why}", name=name, why=_ELSEWHERE[name])
    near = offer(name, known, say(": those are {names}", names=", ".join(known)))
    raise value_error("{name!r} is not a field that can be fixed{offer}", name=name, offer=near)
