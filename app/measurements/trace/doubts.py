"""What does not add up in a trace, or what its numbers do not say, in sentences."""

from collections.abc import Iterator, Sequence
from math import inf, isnan

from app.measurements.trace.activity import MOST, MOST_COLLECTIVES, Activity
from app.measurements.trace.events import EventFile
from app.measurements.trace.report import KindOfCollective, RankTrace
from app.measurements.trace.skew import Skew
from app.measurements.trace.tolls import Window


def doubts_of_rank(source: EventFile, activity: Activity, window: Window) -> Iterator[str]:
    """The doubts about one file."""
    yield from _about_the_file(source, activity)
    if window.steps == 0:
        yield (
            "no step is marked (profiler.step() was not called), so everything from the first to"
            " the last kernel counts"
        )
    elif window.until == inf:
        yield ("only one step is marked, so everything from the first to the last kernel counts")
    if not window.by_launch:
        yield "no kernel is tied to its launch, so kernels belong to the step in which they begin"
    if all(isnan(at) for at in activity.launched):
        yield (
            "the trace has no launches, so how much of the idle time is due to the host is unknown"
            " and counts as 0; profile with ProfilerActivity.CPU, too"
        )
    if len(activity.devices) > 1:
        yield f"the file has kernels of {len(activity.devices)} GPUs, which are counted as one"


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
        yield (
            f"the first {MOST_COLLECTIVES:,} collectives are listed; {activity.untold:,} more are"
            " only in the tolls"
        )
    if activity.beyond:
        yield (
            f"the first {MOST:,} events of the GPU are counted; {activity.beyond:,} more were"
            " left out"
        )


def doubts_of_ranks(
    rank: RankTrace, compared: int, skew: Skew | None, collectives: Sequence[KindOfCollective]
) -> Iterator[str]:
    """The doubts about the collectives, with *compared* ranks side by side."""
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
