"""What does not add up in a trace, or what its numbers do not say, in sentences."""

from collections.abc import Iterator, Sequence
from math import inf

from app.core.measurements.trace.activity import COMPUTE, MOST, MOST_COLLECTIVES, Activity
from app.core.measurements.trace.events import EventFile
from app.core.measurements.trace.report import Kernel, KindOfCollective, RankTrace
from app.core.measurements.trace.skew import Skew
from app.core.measurements.trace.tolls import Tolls, Window, unlaunched
from app.core.units import SECOND, show

_LARGE_GAP = 0.5  # of the wall
_FEW = 0.01  # of the events
_NAMED = 3  # kernels


def doubts_of_rank(
    source: EventFile, activity: Activity, window: Window, tolls: Tolls, kernels: Sequence[Kernel]
) -> Iterator[str]:
    """The doubts about one file."""
    yield from _about_the_file(source, activity)
    yield from _about_the_steps(activity, window)
    yield from _about_launches(activity, window, kernels)
    if tolls.longest_gap > _LARGE_GAP * tolls.wall:
        share = f"{100 * tolls.longest_gap / tolls.wall:.1f} %"
        yield (
            f"one gap, of {show(tolls.longest_gap, SECOND, 3)} from"
            f" {show(tolls.gap_begin, SECOND, 3)} after the first kernel, is {share} of the time:"
            " perhaps a pause, the start of the profiler or a first call; the largest kernels"
            f" beside it are {_largest(kernels)}"
        )
    if len(activity.devices) > 1:
        yield f"the file has kernels of {len(activity.devices)} GPUs, which are counted as one"
    if other := activity.foreign.describe():
        yield f"the trace also has {other}, which is not supported and was left out"


def _about_the_steps(activity: Activity, window: Window) -> Iterator[str]:
    if window.steps == 0 and activity.steps:
        yield ("no whole step has work of the GPU, so everything from the first to the last kernel counts")
    elif window.steps == 0:
        yield (
            "no step is marked (profiler.step() was not called), so everything from the first to the last kernel counts"
        )
    elif window.until == inf:
        yield ("only one step is marked, so everything from the first to the last kernel counts")


def _about_launches(activity: Activity, window: Window, kernels: Sequence[Kernel]) -> Iterator[str]:
    """Whether kernels are tied to the calls that launched them."""
    missing, events = unlaunched(activity), len(activity)
    if missing == events:
        yield (
            "the trace has no launches, so how much of the idle time is due to the host is unknown"
            " and counts as 0; profile with ProfilerActivity.CPU, too; the largest kernels are"
            f" {_largest(kernels)}"
        )
    elif missing > _FEW * events:
        yield (
            f"of {events:,} events of the GPU, {missing:,} are tied to no launch: why the GPU"
            f" is idle before them is unknown; the largest kernels are {_largest(kernels)}"
        )
    if not window.by_launch:
        yield ("most kernels are tied to no launch, so kernels belong to the step in which they begin")
    elif window.until < inf and missing > _FEW * events:
        yield "the events that are tied to no launch belong to no step and were left out"


def _largest(kernels: Sequence[Kernel]) -> str:
    """The names of those that take the most time, if possible of those that compute."""
    computing = [one for one in kernels if one.sort == COMPUTE] or kernels
    return ", ".join(f"{one.name} ({show(one.time, SECOND, 3)})" for one in computing[:_NAMED])


def _about_the_file(source: EventFile, activity: Activity) -> Iterator[str]:
    if source.cut_off:
        yield "the file is cut off or damaged: the events after that are missing"
    if source.damaged:
        yield f"events that are not valid JSON were left out: {source.damaged:,}"
    if activity.impossible:
        yield (
            "events of the GPU with a negative duration or a time that is not a number were left"
            f" out: {activity.impossible:,}"
        )
    if activity.untold:
        yield (f"the first {MOST_COLLECTIVES:,} collectives are listed; {activity.untold:,} more are only in the tolls")
    if activity.beyond:
        yield (f"the first {MOST:,} events of the GPU are counted; {activity.beyond:,} more were left out")


def doubts_of_ranks(
    rank: RankTrace, compared: int, skew: Skew | None, collectives: Sequence[KindOfCollective]
) -> Iterator[str]:
    """The doubts about the collectives, with *compared* ranks side by side."""
    if (rank.world or 0) > 1 and not rank.tolls.communication:
        yield (
            f"the job has {rank.world:,} ranks, but no kernel here is known to communicate; if one"
            f" of the largest does, it was counted as compute: {_largest(rank.kernels)}"
        )
    if not collectives:
        return
    if compared == 1 and rank.world != 1:
        which = "one rank" if rank.number is None else f"rank {rank.number}"
        of = f" of {rank.world:,}" if rank.world else ""
        yield (
            f"this is {which}{of} alone: its collectives also wait for the slowest rank, so the bus"
            " bandwidths are at least these"
        )
    elif skew and skew.unmatched:
        kinds = ", ".join(sorted(skew.unmatched))
        yield f"the ranks made different calls ({kinds}): waiting in these is not told apart"
    elif skew and not skew.matched:
        yield "no collective is the same on all ranks: waiting for others is not told apart"
    if unsized := [one.kind for one in collectives if one.bandwidth is None]:
        yield f"the trace does not say how many bytes were moved by {', '.join(unsized)}"
