"""The search: every layout of a space is evaluated in columns, the best are told with what limits them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple

from app.core.formulas.layout import projected_utilization, step_time
from app.core.formulas.memory import memory_budget
from app.core.formulas.parallelism.rules import RULES, Degrees, Numbers, columns
from app.core.formulas.presets import GIVEN, Layout, Recipe, Shares
from app.core.formulas.step.memory import RankMemoryTerms, most_memory
from app.core.formulas.step.speeds import reduced_by, speeds_of
from app.core.formulas.step.step import (
    busy_time,
    exposed_time,
    held_parameters,
    message_time,
    optimizer_time,
    stages_time,
    total_time,
    traffic,
)
from app.core.formulas.transformer.parameters import LayerParts
from app.core.searching import plain
from app.core.searching.plain import LayoutKey, RankedLayout, Ranking
from app.core.searching.space import BATCH, Grid, Space, Terms, Variants, passes_of
from app.core.translation import joined, localized, noted, say
from app.core.units import Bytes, Ratio, Seconds

_CHUNK = 16_384  # layouts that are computed at once: what a processor's cache holds

Row = tuple[Grid, int, int]  # sequences of a micro-batch, and micro-batches of a rank


class _Kind(NamedTuple):
    """What the layouts of a block have in common."""

    pipeline: int
    chunks: tuple[int, ...]
    variants: Variants
    whole_rounds: bool  # whether the micro-batches are multiples of the stages


class _LayoutBlock(NamedTuple):
    """Layouts as Degrees of four axes: rows, chunks, passes, ZeRO stages."""

    rows: Sequence[Row]
    chunks: Sequence[int]
    variants: Variants
    on: Degrees

    def key(self, place: Sequence[int]) -> LayoutKey:
        """The layout at *place* on the axes."""
        row, chunk, passes, stage = place
        grid, size, count = self.rows[row]
        return LayoutKey(
            *grid, self.chunks[chunk], count, size, *self.variants.passes[passes], self.variants.stages[stage]
        )


def search_columns(space: Space, terms: Terms, ranking: Ranking) -> Iterator[int]:
    """Rank every layout of *space*; yields how many have been looked at since the last time.

    Raises:
        ImportError: NumPy is not installed.
    """
    search = _BlockColumns(space, terms, ranking)
    waiting: dict[_Kind, list[Row]] = {}
    for grid in space.grids():
        kinds, chunks = space.variants(grid), tuple(space.chunks(grid.pipeline))
        each = len(kinds.passes) * len(kinds.stages) * len(chunks)
        for size in space.micro_batches(grid.data):
            count = space.microbatches(grid.data, size)
            if not count:
                ranking.broken[BATCH] += each
                yield each
                continue
            kind = _Kind(grid.pipeline, chunks, kinds, count % grid.pipeline == 0)
            rows = waiting.setdefault(kind, [])
            rows.append((grid, size, count))
            if len(rows) * each >= _CHUNK:
                yield search.rank(kind, waiting.pop(kind))
    for kind, rows in waiting.items():
        yield search.rank(kind, rows)


class _BlockColumns:
    """NumPy, and what all blocks have in common."""

    def __init__(self, space: Space, terms: Terms, ranking: Ranking) -> None:
        import numpy

        self.numpy: Any = numpy
        self.by: Numbers = columns()
        self.space, self.terms, self.ranking = space, terms, ranking
        self.parts = LayerParts.of(space.model)

    def rank(self, kind: _Kind, rows: Sequence[Row]) -> int:
        """Rank the layouts of *rows*; returns how many there are."""
        block = self._block(rows, kind.chunks, kind.variants)
        refused, legal = self._refused(block)
        size = int(refused.size) * len(kind.variants.stages)
        axes = [legal.any(axis=tuple({0, 1, 2} - {axis})) for axis in range(3)]
        if not axes[0].any():
            return size
        kept = [
            [one for one, good in zip(*some, strict=True) if good]
            for some in ((rows, axes[0]), (kind.chunks, axes[1]), (kind.variants.passes, axes[2]))
        ]
        legal = legal[axes[0]][:, axes[1]][:, :, axes[2]]
        variants = kind.variants._replace(passes=tuple(kept[2]))
        self._rank_all(self._block(kept[0], kept[1], variants), legal)
        return size

    def _block(self, rows: Sequence[Row], chunks: Sequence[int], kinds: Variants) -> _LayoutBlock:
        numpy = self.numpy
        numbers = numpy.array([(*grid, size, count) for grid, size, count in rows], dtype=float)
        *grid, size, count = (column.reshape(-1, 1, 1, 1) for column in numbers.T)
        tensor, _, context, data, expert = grid
        passes = [passes_of(*one, self.space.kernels) for one in kinds.passes]
        on = Degrees(
            tensor=tensor,
            pipeline=rows[0][0].pipeline,
            context=context,
            expert=expert,
            data=data,
            virtual=self._column(chunks, 3),
            microbatches=count,
            micro_batch=size,
            zero_stage=numpy.array(kinds.stages),
            **{name: self._column([one[name] for one in passes], 2) for name in passes[0]},
            **self.space.numbers(Grid(*grid), self.by),
        )
        return _LayoutBlock(rows, chunks, kinds, on)

    def _column(self, values: Sequence[int], axis: int) -> Any:
        """*values* along an axis, counted from the last."""
        return self.numpy.array(values, dtype=float).reshape(-1, *(1,) * (axis - 1))

    def _refused(self, block: _LayoutBlock) -> tuple[Any, Any]:
        """Where the first broken rule refuses, and where none does, but for the ZeRO stage."""
        numpy, on = self.numpy, block.on._replace(zero_stage=0)
        shape = len(block.rows), len(block.chunks), len(block.variants.passes)
        refused = numpy.zeros(shape, dtype=bool)
        for rule in RULES:
            broken = numpy.asarray(rule.broken(self.space.model, on))
            if broken.any():
                new = numpy.broadcast_to(broken, (*shape, 1))[..., 0] & ~refused
                count = int(numpy.count_nonzero(new))
                self.ranking.broken[rule.name] += count * len(block.variants.stages)
                refused |= new
        return refused, ~refused

    def _rank_all(self, block: _LayoutBlock, legal: Any) -> None:
        shape, on, by, terms = self.space.model, block.on, self.by, self.terms
        one = stages_time(shape, terms.speeds, on, by)
        held = held_parameters(shape, on, one.most, by)
        passed = traffic(terms.speeds, on, by, terms.sent, held)
        time = total_time(
            terms.speeds,
            busy_time(on, one),
            message_time(shape, terms.speeds, on, by),
            exposed_time(shape, terms.speeds, on, by, one, passed),
            optimizer_time(terms.speeds, on, held, by),
        )
        memory = most_memory(shape, on, RankMemoryTerms.of(shape, self.parts, terms.recipe, on, by), by)
        self._offer(block, time, memory, legal[..., None])

    def _offer(self, block: _LayoutBlock, time: Any, memory: Any, legal: Any) -> None:
        numpy, ranking = self.numpy, self.ranking
        fits = legal & (memory <= ranking.room)
        fit = int(numpy.count_nonzero(fits))
        count = int(numpy.count_nonzero(legal)) * len(block.variants.stages)
        ranking.fit += fit
        ranking.too_large += count - fit
        size = fits.shape
        time = numpy.broadcast_to(time, size)
        if fit < count and not ranking.fit:
            least = numpy.where(legal, memory, numpy.inf).ravel().argmin(keepdims=True)
            for one in self._candidates(block, time, memory, least):
                ranking.offer_least(one)
        if not fit:
            return
        places = numpy.flatnonzero(fits)
        times, needed = time.ravel()[places], memory.ravel()[places]
        ranking.add(self._candidates(block, time, memory, places[self._fast(times)]))
        front = places[self._front(times, needed)]
        ranking.extend_front(self._candidates(block, time, memory, front))

    def _candidates(self, block: _LayoutBlock, time: Any, memory: Any, places: Any) -> Iterator[RankedLayout]:
        """The layouts at *places* of the flattened columns."""
        for at in zip(*self.numpy.unravel_index(places, time.shape), strict=True):
            yield RankedLayout(float(time[at]), float(memory[at]), block.key(at))

    def _fast(self, times: Any) -> Any:
        """The places in *times* of those that may be among the fastest."""
        numpy, most = self.numpy, self.ranking.most
        found = numpy.flatnonzero(times <= self.ranking.slowest)
        if len(found) > most:
            some = times[found]
            found = found[some <= numpy.partition(some, most - 1)[most - 1]]
        return found

    def _front(self, times: Any, needed: Any) -> Any:
        """The places of those that nothing is better than, on the front or among them."""
        numpy, front = self.numpy, self.ranking.front
        before = numpy.array([numpy.inf, *(one.time for one in front)])
        place = numpy.searchsorted(numpy.array(self.ranking.needed), needed, side="right")
        some = numpy.flatnonzero(times < before[place])
        some = some[numpy.lexsort((times[some], needed[some]))]
        best = numpy.minimum.accumulate(times[some])
        return some[numpy.flatnonzero(numpy.diff(best, prepend=numpy.inf) < 0)]


LARGEST = 100_000_000  # layouts of a search: a minute or two with NumPy
MOST_TOP = 1000
_SENT, _KEPT = Recipe.named("mixed"), Recipe.named("Megatron")  # of step_time and of fits
_SPENT: Mapping[str, tuple[str, ...]] = {
    "compute": ("products", "attention", "element_wise", "head", "launches", "optimizer"),
    "recomputation": ("recompute",),
    "tensor parallelism": ("tensor",),
    "context parallelism": ("context",),
    "expert parallelism": ("expert",),
    "data parallelism": ("data",),
    "pipeline bubble": ("bubble", "messages"),
    "slower GPUs": ("skew",),
}
_LEAST = 0.0005  # of a step: what takes less limits nothing
Search = Callable[[Space, Terms, Ranking], Iterator[int]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A layout, the time of its step, the memory of its fullest GPU, and what the time goes to.

    *limits* are shares of the step, the largest first.
    """

    layout: Layout
    step_time: Seconds
    memory: Bytes
    mfu: Ratio
    limits: Mapping[str, Ratio]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found: *layouts* is the number that fit and that were rejected, together.

    *rejected* counts by the first rule that refuses a layout; the last is the memory. *top* are the
    fastest that fit, and *front* those that fit and that no other beats in both time and memory.
    *least* needs the least memory, where none fits.
    """

    layouts: int
    seconds: Seconds
    fit: int
    rejected: Mapping[str, int]
    top: tuple[Ranked, ...]
    front: tuple[Ranked, ...]
    least: Ranked | None


def find_layouts(
    space: Space,
    shares: Shares = GIVEN,
    recipe: Recipe | None = None,
    top: int = 20,
    largest: int = LARGEST,
    progress: Progress | None = None,
    search: Search | None = None,
) -> SearchResult:
    """The *top* fastest layouts of *space* that fit, the front, and why others were rejected.

    Times are those of `layout.step_time` and memory is that of `memory.memory_budget`, with their
    own recipes unless there is a *recipe*.

    Raises:
        ValueError: the space has more than *largest* layouts; the message says how many, and what
            to fix.
    """
    started, space = perf_counter(), replace(space, shares=shares)
    size = space.size
    if size > largest:
        raise ValueError(_too_large(space, size, largest))
    speeds = speeds_of(space.model, space.cluster, shares, space.precision)
    terms = Terms(speeds, reduced_by(recipe or _SENT), recipe or _KEPT)
    ranking = Ranking(top, space.cluster.gpu.memory)
    seen = 0
    for count in (search or quickest())(space, terms, ranking):
        seen += count
        if progress:
            progress(seen, size)
    ranked = partial(_ranked, space, shares, recipe)
    least = ranking.least if not ranking.fit else None
    return SearchResult(
        layouts=seen,
        seconds=perf_counter() - started,
        fit=ranking.fit,
        rejected=ranking.rejected,
        top=tuple(map(ranked, ranking.top)),
        front=tuple(map(ranked, ranking.front)),
        least=ranked(least) if least else None,
    )


def quickest() -> Search:
    """The search over columns where NumPy is installed, otherwise the one in plain Python."""
    return search_columns if find_spec("numpy") else plain.search_plainly


def _ranked(space: Space, shares: Shares, recipe: Recipe | None, one: RankedLayout) -> Ranked:
    layout = space.layout(**one.key._asdict())
    given = space.model, space.cluster, layout, shares, recipe or _SENT
    parts = step_time(*given)
    spent = {name: sum(getattr(parts, part) for part in some) / parts.total for name, some in _SPENT.items()}
    most = sorted(spent.items(), key=lambda item: -item[1])
    return Ranked(
        layout=layout,
        step_time=parts.total,
        memory=memory_budget(space.model, layout, recipe or _KEPT, space.kernels).total,
        mfu=projected_utilization(*given),
        limits={name: share for name, share in most if share >= _LEAST},
    )


def _too_large(space: Space, size: int, largest: int) -> str:
    tried = {
        "tensor": _near(space, "tensor", space.cluster.gpus_per_node),
        "pipeline": _near(space, "pipeline", 8),
        "context": 1,
        "expert": 1,
        "micro_batch": 1,
        "recompute": "selective",
        "zero_stage": 1,
        "sequence_parallel": True,
    }
    left = {f"{name}={value}": space.fixing(name, value).size for name, value in tried.items() if name in space.free}
    least = sorted(left.items(), key=lambda item: item[1])[:3]
    form, more = noted("{degree} ({count} layouts)"), noted("{first}, {others}")
    offers = [say(form, degree=text, count=f"{count:,}") for text, count in least]
    return say(
        "there are {count} layouts, and a search takes at most {most}{offer}",
        count=f"{size:,}",
        most=f"{largest:,}",
        offer=_offer(", ".join(space.free), joined(offers, more)) if offers else "",
    )


def _offer(names: str, offers: str) -> str:
    return say("; fix some of {names}, such as {offers}", names=names, offers=offers)


def _near(space: Space, name: str, most: int) -> int:
    """The largest degree up to *most* that *name* can be fixed at."""
    return max(grid for grid in space.degrees(name) if grid <= most)


_LARGEST = 2_000_000  # layouts of a search
_TOP = 10


def search_in_time(space: Callable[[], Space], seconds: float, clock: Callable[[], float]) -> SearchResult | str:
    """What a search of *space* found in *seconds* of the *clock*, or why there is no result."""
    end = clock() + seconds

    def hurry(seen: int, size: int) -> None:
        if clock() > end:
            raise ValueError(
                say(
                    "after {seconds} seconds, {seen} of {size} layouts had been searched; fix some of the degrees",
                    seconds=f"{seconds:g}",
                    seen=f"{seen:,}",
                    size=f"{size:,}",
                )
            )

    try:
        return find_layouts(space(), top=_TOP, largest=_LARGEST, progress=hurry)
    except ValueError as error:
        return localized(str(error))
