"""The best layouts of a space, with what limits them, and why others are rejected."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from app.core.formulas.memory import memory_budget
from app.core.formulas.parallelism import PLAIN
from app.core.formulas.presets import GIVEN, Layout, Recipe, Shares, Stack
from app.core.formulas.presets.stacks import stack_recipe
from app.core.formulas.step.layer import counted_flops
from app.core.formulas.step.speeds import peak_of, reduced_by
from app.core.formulas.step.step import step_parts
from app.core.searching.ranking import RankedLayout, Ranking
from app.core.searching.space import Space, Terms
from app.core.translation import join_sentences, localize, noted, say, value_error
from app.core.units import Bytes, Ratio, Seconds

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
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutCandidate:
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
    top: tuple[LayoutCandidate, ...]
    front: tuple[LayoutCandidate, ...]
    least: LayoutCandidate | None


def find_layouts(
    space: Space,
    shares: Shares = GIVEN,
    recipe: Recipe | None = None,
    stack: Stack | None = None,
    top: int = 20,
    largest: int = LARGEST,
    progress: Progress | None = None,
) -> SearchResult:
    """The *top* fastest layouts of *space* that fit, the front, and why others were rejected.

    Times are those of `layout.step_time` and memory is that of `memory.memory_budget`, with their
    own recipes unless there is a *recipe*; with a *stack*, they have its kernels and its bytes.

    Raises:
        ValueError: the space has more than *largest* layouts; the message says how many, and what to fix.
    """
    from app.core.searching.columns import search_columns  # a server starts without NumPy

    started, space = perf_counter(), replace(space, shares=shares, stack=stack)
    recipe = stack_recipe(stack, recipe) if stack else recipe
    size = space.size
    if size > largest:
        raise ValueError(_too_large(space, size, largest))
    terms = Terms(space.speeds, reduced_by(recipe or _SENT), recipe or _KEPT)
    ranking = Ranking(top, space.cluster.gpu.memory)
    seen = 0
    for count in search_columns(space, terms, ranking):
        seen += count
        if progress:
            progress(seen, size)
    ranked = partial(_ranked, space, recipe)
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


def _ranked(space: Space, recipe: Recipe | None, one: RankedLayout) -> LayoutCandidate:
    layout = space.layout(one.key._asdict())
    on = layout.degrees(space.speeds.fused)
    parts = step_parts(space.model, space.speeds, on, PLAIN, reduced_by(recipe or _SENT))
    flops = counted_flops(space.model, layout.sequence) * layout.tokens
    spent = {name: sum(getattr(parts, part) for part in some) / parts.total for name, some in _SPENT.items()}
    most = sorted(spent.items(), key=lambda item: -item[1])
    return LayoutCandidate(
        layout=layout,
        step_time=parts.total,
        memory=memory_budget(space.model, layout, recipe or _KEPT, space.kernels).total,
        mfu=flops / (layout.gpus * peak_of(space.cluster.gpu, space.precision) * parts.total),
        limits={name: share for name, share in most if share >= _LEAST},
    )


def _too_large(space: Space, size: int, largest: int) -> str:
    tried: dict[str, int | str] = {
        "tensor": _near(space, "tensor", space.cluster.gpus_per_node),
        "pipeline": _near(space, "pipeline", 8),
        "context": 1,
        "expert": 1,
        "micro_batch": 1,
        "recompute": "selective",
        "zero_stage": 1,
        "sequence_parallel": True,
    }
    left = {
        f"{name}={value}": replace(space, fixed={**space.fixed, name: value}).size
        for name, value in tried.items()
        if name in space.free
    }
    least = sorted(left.items(), key=lambda item: item[1])[:3]
    form, more = noted("{degree} ({count} layouts)"), noted("{first}, {others}")
    offers = [say(form, degree=text, count=f"{count:,}") for text, count in least]
    offer, names = "", ", ".join(space.free)
    if offers:
        offer = say("; fix some of {names}, such as {offers}", names=names, offers=join_sentences(offers, more))
    form = noted("there are {count} layouts, and a search takes at most {most}{offer}")
    return say(form, count=f"{size:,}", most=f"{largest:,}", offer=offer)


def _near(space: Space, name: str, most: int) -> int:
    """The largest degree up to *most* that *name* can be fixed at."""
    return max(grid for grid in space.degrees(name) if grid <= most)


_LARGEST = 2_000_000  # layouts of a search
_TOP = 10


def search_in_time(space: Callable[[], Space], seconds: float, clock: Callable[[], float]) -> SearchResult | str:
    """The result of a search of *space* within *seconds* of the *clock*, or a sentence that says why there is none."""
    end = clock() + seconds

    def hurry(seen: int, size: int) -> None:
        if clock() > end:
            form = noted("after {seconds} seconds, {seen} of {size} layouts had been searched; fix some of the degrees")
            raise value_error(form, seconds=f"{seconds:g}", seen=f"{seen:,}", size=f"{size:,}")

    try:
        return find_layouts(space(), top=_TOP, largest=_LARGEST, progress=hurry)
    except ValueError as error:
        return localize(str(error))
