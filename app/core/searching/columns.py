"""Every layout of a space, computed in columns of NumPy: only a search imports this."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy
from numpy.typing import NDArray

from app.core.formulas.parallelism import RULES, Degrees, Numbers, Whole
from app.core.formulas.step import step
from app.core.formulas.step.memory import RankMemoryTerms, most_memory
from app.core.formulas.transformer import LayerParts
from app.core.searching.ranking import LayoutKey, RankedLayout, Ranking
from app.core.searching.space import BATCH, Grid, Space, Terms, Variants, passes_of


class _Columns:
    """The choices of formulas, for columns."""

    where = staticmethod(numpy.where)
    larger = staticmethod(numpy.maximum)
    smaller = staticmethod(numpy.minimum)
    ceil = staticmethod(numpy.ceil)


Column = NDArray[numpy.float64]
Mask = NDArray[numpy.bool_]
Places = NDArray[numpy.intp]
COLUMNS: Numbers = _Columns()  # type: ignore[assignment]
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
    """Rank every layout of *space*; yields how many have been looked at since the last time."""
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


def _on_axis(values: Sequence[int], axis: int) -> Whole:
    """A column of *values* along an axis, counted from the last, which formulas take for a number."""
    return cast(Whole, numpy.array(values, dtype=float).reshape(-1, *(1,) * (axis - 1)))


class _BlockColumns:
    """What all blocks have in common."""

    def __init__(self, space: Space, terms: Terms, ranking: Ranking) -> None:
        self.space, self.terms, self.ranking = space, terms, ranking
        self.parts = LayerParts.of(space.model)

    def rank(self, kind: _Kind, rows: Sequence[Row]) -> int:
        """Rank the layouts of *rows*; returns how many there are."""
        block = self._block(rows, kind.chunks, kind.variants)
        on = block.on._replace(zero_stage=0)
        shape = len(block.rows), len(block.chunks), len(block.variants.passes)
        refused = numpy.zeros(shape, dtype=bool)
        for rule in RULES:
            broken = numpy.asarray(rule.broken(self.space.model, on))
            if broken.any():
                new = numpy.broadcast_to(broken, (*shape, 1))[..., 0] & ~refused
                count = int(numpy.count_nonzero(new))
                self.ranking.broken[rule.name] += count * len(block.variants.stages)
                refused |= new
        legal = ~refused
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
        tensor, _, context, data, expert, size, count = (
            _on_axis(column, 4) for column in zip(*((*grid, size, count) for grid, size, count in rows), strict=True)
        )
        passes = [passes_of(*one, self.space.kernels) for one in kinds.passes]
        grid = Grid(tensor, rows[0][0].pipeline, context, data, expert)
        on = self.space.grid_degrees(grid, COLUMNS)._replace(
            virtual=_on_axis(chunks, 3),
            microbatches=count,
            micro_batch=size,
            zero_stage=_on_axis(kinds.stages, 1),
            **{name: _on_axis([one[name] for one in passes], 2) for name in passes[0]},
        )
        return _LayoutBlock(rows, chunks, kinds, on)

    def _rank_all(self, block: _LayoutBlock, legal: Mask) -> None:
        shape, on, by, terms = self.space.model, block.on, COLUMNS, self.terms
        one = step.stages_time(shape, terms.speeds, on, by)
        held = step.held_parameters(shape, on, one.most, by)
        passed = step.traffic(terms.speeds, on, by, terms.sent, held)
        time = step.total_time(
            terms.speeds,
            step.busy_time(on, one),
            step.message_time(shape, terms.speeds, on, by),
            step.exposed_time(shape, terms.speeds, on, by, one, passed),
            step.optimizer_time(terms.speeds, on, held, by),
        )
        memory = most_memory(shape, on, RankMemoryTerms.of(shape, self.parts, terms.recipe, on, by), by)
        self._offer(block, numpy.asarray(time), numpy.asarray(memory), legal[..., None])

    def _offer(self, block: _LayoutBlock, time: Column, memory: Column, legal: Mask) -> None:
        ranking = self.ranking
        fits = legal & (memory <= ranking.room)
        fit = int(numpy.count_nonzero(fits))
        count = int(numpy.count_nonzero(legal)) * len(block.variants.stages)
        ranking.fit += fit
        ranking.too_large += count - fit
        size = fits.shape
        time = numpy.broadcast_to(time, size)
        if fit < count and not ranking.fit:
            least = numpy.where(legal, memory, numpy.inf).ravel().argmin(axis=0, keepdims=True)
            for one in self._candidates(block, time, memory, least):
                ranking.offer_least(one)
        if not fit:
            return
        places = numpy.flatnonzero(fits)
        times, needed = time.ravel()[places], memory.ravel()[places]
        most = ranking.most
        found = numpy.flatnonzero(times <= ranking.slowest)
        if len(found) > most:
            fast = times[found]
            found = found[fast <= numpy.partition(fast, most - 1)[most - 1]]
        ranking.add(self._candidates(block, time, memory, places[found]))
        before = numpy.array([numpy.inf, *(one.time for one in ranking.front)])
        place = numpy.searchsorted(numpy.array(ranking.needed), needed, side="right")
        some = numpy.flatnonzero(times < before[place])
        some = some[numpy.lexsort((times[some], needed[some]))]
        best = numpy.minimum.accumulate(times[some])
        unbeaten = some[numpy.flatnonzero(numpy.diff(best, prepend=numpy.inf) < 0)]
        ranking.extend_front(self._candidates(block, time, memory, places[unbeaten]))

    def _candidates(self, block: _LayoutBlock, time: Column, memory: Column, places: Places) -> Iterator[RankedLayout]:
        """The layouts at *places* of the flattened columns."""
        for at in zip(*numpy.unravel_index(places, time.shape), strict=True):
            yield RankedLayout(float(time[at]), float(memory[at]), block.key(at))
