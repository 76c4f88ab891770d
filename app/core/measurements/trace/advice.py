"""What a step could save, the largest first, and what to try."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.measurements.trace.report import TraceReport
from app.core.units import Seconds

_SMALLEST = 0.01  # of the wall: less is not worth a sentence
_WAITING = (
    "The kernels were launched and waited for others: the pipeline's bubble (more"
    " micro-batches, interleaving), events between streams, small kernels in a row."
)
_ALONE = "The kernels were launched and waited for others: events between streams, small kernels in a row."


@dataclass(frozen=True, slots=True)
class Lever:
    """Something to try, and the most that it could save of the wall."""

    toll: str
    saves: Seconds
    formula: str
    says: str


def levers(report: TraceReport) -> tuple[Lever, ...]:
    """The levers that could save at least one percent of the wall, the largest first."""
    found = (one for one in _levers(report) if one.saves > _SMALLEST * report.tolls.wall)
    return tuple(sorted(found, key=lambda one: -one.saves))


def _levers(report: TraceReport) -> Iterator[Lever]:
    tolls = report.tolls
    transfer = tolls.exposed_communication - report.exposed_skew
    hideable = max(min(transfer, tolls.compute - tolls.overlapped_communication), 0.0)
    yield Lever(
        "Communication beyond compute",
        transfer - hideable,
        "exposed - (compute - overlapped)",
        "There is not enough compute to hide it: move fewer bytes (16-bit gradients, accumulated"
        " over more micro-batches) or find out why the bus bandwidth is below the wire's.",
    )
    yield Lever(
        "Exposed communication",
        hideable,
        "min(exposed, compute - overlapped)",
        "Start collectives earlier, behind compute that does not need them: smaller buckets,"
        " prefetching, a stream of their own.",
    )
    who = f" Rank {report.last[0]} most often arrives last." if report.last else ""
    yield Lever(
        "Waiting for the slowest rank",
        report.exposed_skew,
        "the sum of (time - shortest time of the collective), where no compute hides it",
        f"Balance the ranks: their data, their stages, or a slow GPU.{who}",
    )
    yield Lever(
        "Host stalls",
        tolls.host,
        "the sum over gaps of (launch of the next kernel - beginning of the gap)",
        "Launch earlier or less: CUDA graphs, torch.compile, fused optimizers, no .item() or"
        " printing in the step, more workers that load data.",
    )
    yield Lever("Waiting of the GPU", tolls.waiting, "idle - host", _ALONE if report.alone else _WAITING)
    yield Lever(
        "Exposed copies",
        tolls.exposed_copies,
        "copies while the GPU neither computes nor communicates",
        "Copy from pinned memory on another stream with non_blocking=True, one batch ahead.",
    )
