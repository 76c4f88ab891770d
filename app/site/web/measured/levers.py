"""What to try first, in the language of the request: the measurements say it in English."""

from dataclasses import replace

from app.core.measurements.trace.advice import Lever
from app.core.translation import noted, translate

SAID = (
    noted("Communication beyond compute"),
    noted("Exposed communication"),
    noted("Waiting for the slowest rank"),
    noted("Host stalls"),
    noted("Waiting of the GPU"),
    noted("Exposed copies"),
    noted(
        "There is not enough compute to hide it: move fewer bytes (16-bit gradients, accumulated "
        "over more micro-batches) or find out why the bus bandwidth is below the wire's."
    ),
    noted(
        "Start collectives earlier, behind compute that does not need them: smaller buckets, "
        "prefetching, a stream of their own."
    ),
    noted("Balance the ranks: their data, their stages, or a slow GPU."),
    noted(
        "Launch earlier or less: CUDA graphs, torch.compile, fused optimizers, no .item() or "
        "printing in the step, more workers that load data."
    ),
    noted(
        "The kernels were launched and waited for others: the pipeline's bubble (more "
        "micro-batches, interleaving), events between streams, small kernels in a row."
    ),
    noted("The kernels were launched and waited for others: events between streams, small kernels in a row."),
    noted("Copy from pinned memory on another stream with non_blocking=True, one batch ahead."),
    noted("exposed - (compute - overlapped)"),
    noted("min(exposed, compute - overlapped)"),
    noted("the sum of (time - shortest time of the collective), where no compute hides it"),
    noted("the sum over gaps of (launch of the next kernel - beginning of the gap)"),
    noted("idle - host"),
    noted("copies while the GPU neither computes nor communicates"),
)
_BEFORE, _AFTER = " Rank ", " most often arrives last."


def lever_told(lever: Lever) -> Lever:
    """*lever* in the current language."""
    says, found, rank = lever.says.partition(_BEFORE)
    last = translate(" Rank {rank} most often arrives last.", rank=rank.removesuffix(_AFTER)) if found else ""
    return replace(lever, toll=translate(lever.toll), says=translate(says) + last, formula=translate(lever.formula))
