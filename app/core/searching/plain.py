"""The search in plain Python, and what a search keeps of all layouts."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import add, itemgetter
from typing import NamedTuple

from app.core.formulas.parallelism.rules import PLAIN, RULES, Degrees, Middle, in_flight
from app.core.formulas.presets import ModelShape
from app.core.formulas.step.layer import LayerTime, layer_times
from app.core.formulas.step.memory import PassBytes, RankMemoryTerms, StageLayers, StateBytes, fullest_stages
from app.core.formulas.step.step import (
    Ends,
    Held,
    StagesTime,
    Traffic,
    busy_time,
    end_times,
    exposed_time,
    held_parameters,
    message_time,
    optimizer_time,
    stages_time,
    total_time,
    traffic,
)
from app.core.formulas.transformer.parameters import LayerParts
from app.core.searching.space import BATCH, Grid, Space, Terms, Variants, passes_of
from app.core.translation import noted

MEMORY = noted("memory")  # the last rule: what a layout needs is more than a GPU has


class LayoutKey(NamedTuple):
    """A layout of a space, as small as possible."""

    tensor: int
    pipeline: int
    context: int
    data: int
    expert: int
    virtual: int
    microbatches: int
    micro_batch: int
    recompute: str
    sequence_parallel: bool
    zero_stage: int


class RankedLayout(NamedTuple):
    """Seconds of a step, bytes on the fullest GPU, and the layout."""

    time: float
    memory: float
    key: LayoutKey


class Ranking:
    """The *most* fastest layouts that fit in *room* bytes, and the front; memory stays bounded."""

    def __init__(self, most: int, room: float) -> None:
        self.room, self.most = room, most
        self.broken: Counter[str] = Counter()  # layouts by the first rule that refuses them
        self.fit, self.too_large = 0, 0
        self.slowest = math.inf  # of the fastest: a layout that takes longer is not one of them
        self.least: RankedLayout | None = None  # that needs the least memory, whether it fits or not
        self.front: list[RankedLayout] = []  # by memory, from the least; each is faster than before
        self.needed: list[float] = []  # the memory of each of them
        self._top: list[RankedLayout] = []

    @property
    def top(self) -> tuple[RankedLayout, ...]:
        """The fastest layouts; of two that take as long, the one with less memory first."""
        return tuple(sorted(self._top)[: self.most])

    @property
    def rejected(self) -> Mapping[str, int]:
        """How many layouts each rule refused, the most first."""
        counts = self.broken + Counter({MEMORY: self.too_large})
        return dict(counts.most_common())

    def add(self, some: Iterable[RankedLayout]) -> None:
        """*some* that fit may be among the fastest."""
        self._top.extend(some)
        if len(self._top) >= 2 * self.most:
            self._top = sorted(self._top)[: self.most]
            self.slowest = self._top[-1].time

    def is_on_front(self, time: float, memory: float) -> bool:
        """Whether no layout on the front is as fast with as little memory."""
        place = bisect_right(self.needed, memory)
        return not place or time < self.front[place - 1].time

    def extend_front(self, some: Iterable[RankedLayout]) -> None:
        """*some* that fit may be on the front."""
        kept: list[RankedLayout] = []
        for one in sorted((*self.front, *some), key=itemgetter(1, 0, 2)):
            if not kept or one.time < kept[-1].time:
                kept.append(one)
        self.front, self.needed = kept, [one.memory for one in kept]

    def offer_least(self, one: RankedLayout) -> None:
        """*one* may need the least memory."""
        if self.least is None or (one.memory, one.time) < (self.least.memory, self.least.time):
            self.least = one


_KEPT = 20_000  # parts that are kept, about 2 kB each


class _States(NamedTuple):
    """What the ZeRO stage decides on a grid: seconds, and bytes of each stage that may be full."""

    zero: int
    passed: Traffic
    optimizer: float
    bytes: tuple[float, ...]


class _Legal(NamedTuple):
    """The chunks that are legal with each pass, and how many layouts each rule refuses."""

    chunks: dict[tuple[str, bool], list[int]]
    broken: Counter[str]


class _Chunks(NamedTuple):
    """What the number of chunks decides: seconds of messages, and micro-batches in flight."""

    on: Degrees
    sent: float
    flying: tuple[float, ...]


def search_plainly(space: Space, terms: Terms, ranking: Ranking) -> Iterator[int]:
    """Rank every layout of *space*; yields how many have been looked at since the last time."""
    plain = _KnownParts(space, terms, ranking)
    for grid in space.grids():
        yield plain.rank(grid)


class _KnownParts:
    """Parts that are known already, by what they depend on."""

    def __init__(self, space: Space, terms: Terms, ranking: Ranking) -> None:
        self.space, self.terms, self.ranking = space, terms, ranking
        self.shape: ModelShape = space.model
        self.kernels = space.kernels
        self.parts = LayerParts.of(space.model)
        self.layers: dict[tuple[object, ...], tuple[tuple[LayerTime, LayerTime], RankMemoryTerms]] = {}
        self.ends: dict[tuple[int, float], Ends] = {}
        self.stages: dict[int, tuple[tuple[int, ...], tuple[StageLayers, ...]]] = {}
        self.flying: dict[tuple[int, int, int], tuple[float, ...]] = {}

    def rank(self, grid: Grid) -> int:
        """Rank the layouts of *grid*; returns how many there are."""
        space, kinds = self.space, self.space.variants(grid)
        base = Degrees(
            tensor=grid.tensor, pipeline=grid.pipeline, context=grid.context, expert=grid.expert,
            data=grid.data, **space.numbers(grid),
        )  # fmt: skip
        chunks, sizes = space.chunks(grid.pipeline), space.micro_batches(grid.data)
        states: tuple[_States, ...] = ()
        legal: dict[bool, _Legal] = {}
        for size in sizes:
            count = space.microbatches(grid.data, size)
            if not count:
                self.ranking.broken[BATCH] += len(chunks) * len(kinds.passes) * len(kinds.stages)
                continue
            on = base._replace(microbatches=count, micro_batch=size)
            rounds = count % grid.pipeline == 0  # all that a rule asks of the micro-batches
            if rounds not in legal:
                legal[rounds] = self._legal(on, chunks, kinds)
            self.ranking.broken.update(legal[rounds].broken)
            if legal[rounds].chunks:
                states = states or self._states(on, kinds)
                self._rank_all(on, legal[rounds].chunks, states)
        return len(chunks) * len(sizes) * len(kinds.passes) * len(kinds.stages)

    def _legal(self, on: Degrees, chunks: Sequence[int], kinds: Variants) -> _Legal:
        found = _Legal({}, Counter())
        for parallel in dict.fromkeys(parallel for _, parallel in kinds.passes):
            passes = [one for one in kinds.passes if one[1] == parallel]
            for virtual in chunks:
                degrees = on._replace(virtual=virtual, sequence_parallel=int(parallel))
                broken = next((r.name for r in RULES if r.broken(self.shape, degrees)), "")
                if broken:
                    found.broken[broken] += len(passes) * len(kinds.stages)
                    continue
                for one in passes:
                    found.chunks.setdefault(one, []).append(virtual)
        return found

    def _states(self, on: Degrees, kinds: Variants) -> tuple[_States, ...]:
        held: Held | None = None
        found = []
        for zero in kinds.stages:
            degrees = on._replace(zero_stage=zero)
            rank = self._rank_of(degrees)
            _, stages = self._stages(degrees)
            if held is None:
                one = self._one(degrees)
                held = held_parameters(self.shape, degrees, one.most, PLAIN)
            found.append(
                _States(
                    zero,
                    traffic(self.terms.speeds, degrees, PLAIN, self.terms.sent, held),
                    optimizer_time(self.terms.speeds, degrees, held, PLAIN),
                    tuple(sum(StateBytes.of(self.shape, degrees, rank, at, PLAIN)) for at in stages),
                )
            )
        return tuple(found)

    def _rank_of(self, degrees: Degrees) -> RankMemoryTerms:
        return RankMemoryTerms.of(self.shape, self.parts, self.terms.recipe, degrees, PLAIN)

    def _rank_all(self, on: Degrees, legal: dict[tuple[str, bool], list[int]], states: tuple[_States, ...]) -> None:
        """The micro-batch of *on* with every pass, chunk and ZeRO stage."""
        shape, speeds = self.shape, self.terms.speeds
        chunks = {
            virtual: self._chunks(on._replace(virtual=virtual))
            for virtual in dict.fromkeys(one for some in legal.values() for one in some)
        }
        sharded = [(on._replace(zero_stage=state.zero), state.passed) for state in states]
        _, stages = self._stages(on)
        for passes, some in legal.items():
            degrees = on._replace(**passes_of(*passes, self.kernels))
            one, rank = self._one(degrees), self._layer(degrees)[1]
            held = [PassBytes.of(shape, rank, at, PLAIN) for at in stages]
            rest = [(each.kept, each.logits + each.transient + each.workspace) for each in held]
            stored = [
                (state.zero, exposed_time(shape, speeds, placed, PLAIN, one, passed), state.optimizer, state.bytes)
                for state, (placed, passed) in zip(states, sharded, strict=True)
            ]
            for virtual in some:
                cut = chunks[virtual]
                busy = busy_time(cut.on, one)
                needs = [many * kept + more for many, (kept, more) in zip(cut.flying, rest, strict=True)]
                for zero, exposed, optimizer, own in stored:
                    time = total_time(speeds, busy, cut.sent, exposed, optimizer)
                    memory = max(map(add, needs, own))
                    self._offer(cut.on, passes, zero, time, memory)

    def _chunks(self, on: Degrees) -> _Chunks:
        """What the number of chunks decides: messages, and micro-batches in flight."""
        key = on.pipeline, on.virtual, on.microbatches
        if key not in self.flying:
            if len(self.flying) >= _KEPT:
                self.flying.clear()
            numbers, _ = self._stages(on)
            self.flying[key] = tuple(in_flight(on, stage, PLAIN) for stage in numbers)
        sent = message_time(self.shape, self.terms.speeds, on, PLAIN)
        return _Chunks(on, sent, self.flying[key])

    def _offer(self, on: Degrees, passes: tuple[str, bool], zero: int, time: float, memory: float) -> None:
        ranking = self.ranking
        if memory > ranking.room:
            ranking.too_large += 1
            if ranking.least is None or memory <= ranking.least.memory:
                ranking.offer_least(RankedLayout(time, memory, _key(on, passes, zero)))
            return
        ranking.fit += 1
        is_fast, is_small = time <= ranking.slowest, ranking.is_on_front(time, memory)
        if is_fast or is_small:
            one = [RankedLayout(time, memory, _key(on, passes, zero))]
            if is_fast:
                ranking.add(one)
            if is_small:
                ranking.extend_front(one)

    def _one(self, on: Degrees) -> StagesTime:
        """A micro-batch through the stages."""
        key = on.tensor, on.tokens
        if key not in self.ends:
            if len(self.ends) >= _KEPT:
                self.ends.clear()
            self.ends[key] = end_times(self.shape, self.terms.speeds, on, PLAIN)
        times, _ = self._layer(on)
        return stages_time(self.shape, self.terms.speeds, on, PLAIN, times, self.ends[key])

    def _layer(self, on: Degrees) -> tuple[tuple[LayerTime, LayerTime], RankMemoryTerms]:
        """Times and bytes of the layers."""
        key = (
            on.tensor, on.context, on.expert, on.micro_batch, on.full, on.selective,
            on.sequence_parallel, on.expert_tensor, on.operations,
        )  # fmt: skip
        if key not in self.layers:
            if len(self.layers) >= _KEPT:
                self.layers.clear()
            times = layer_times(self.shape, self.terms.speeds, on, PLAIN)
            self.layers[key] = times, self._rank_of(on)
        return self.layers[key]

    def _stages(self, on: Degrees) -> tuple[tuple[int, ...], tuple[StageLayers, ...]]:
        """The stages of which one is the fullest."""
        if on.pipeline not in self.stages:
            middle = Middle.of(self.shape.layers, on)
            numbers = tuple(dict.fromkeys(fullest_stages(self.shape, on, middle, PLAIN)))
            at = tuple(StageLayers.of(self.shape, on, middle, stage, PLAIN) for stage in numbers)
            self.stages[on.pipeline] = numbers, at
        return self.stages[on.pipeline]


def _key(on: Degrees, passes: tuple[str, bool], zero: int) -> LayoutKey:
    return LayoutKey(
        on.tensor, on.pipeline, on.context, on.data, on.expert, on.virtual, on.microbatches,
        on.micro_batch, *passes, zero,
    )  # fmt: skip
