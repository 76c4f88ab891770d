"""Sentences of plans, runs and measurements, which are stored in English, in the current language.

A sentence is recognized by its form, as in `retelling`. One of an earlier version stays known,
since the runs that have it do.
"""

from app.translation import SOURCE, language, noted, translate
from app.translation.retelling import told_as

MOVES = (
    noted("multiply"),
    noted("all-gather {array} over {axis}"),
    noted("all-reduce {array} over {axis}"),
    noted("reduce-scatter {array} over {axis} along {dim}"),
    noted("all-to-all {array} over {axis} along {dim}"),
    noted("keep own part of {array} over {axis} along {dim}"),
)

NOTES = (
    noted("{name} has no prediction: {trouble}."),
    noted("Over gloo, between processes of one machine, expect a factor of two from run to run."),
    noted("Over gloo, between processes of one machine: expect a factor of two from run to run."),
    noted("Over gloo, over the network of {nodes} nodes, expect a factor of two from run to run."),
    noted(
        "At {late} of {points} points the machine was too slow or too busy to emulate the link: "
        "messages arrived later than they should have."
    ),
    noted(
        "The machine was too slow or too busy for the emulated link at {late} of {points} points: "
        "their messages came later than they should."
    ),
    noted(
        "From {least} to {most}, the best fit to the medians is {latency} + size / {bandwidth}, "
        "with a median error of {error} %."
    ),
    noted("The clock of rank 0's GPU was held down {why}: at its highest, it is faster."),
    noted(
        "Slurm could run other jobs on the same node, and they share its memory, its switches and "
        "its network."
    ),
    noted("On processors, over gloo: {why}."),
    noted("Rank {rank}: number {number}, {collective}, started."),
    noted("Rank {rank}: number {number}, {collective}, completed."),
)

# What limits a measured bandwidth, and the usual cause of one that is low.
LIMITS = (
    noted("NVLink of a GPU"),
    noted("the network card of a GPU"),
    noted("the {each} network cards of a node"),
    noted("a network card"),
    noted("The largest size is so small that latency counts more than bandwidth."),
    noted(
        "NVLink is in use, since PCIe carries 64 GB/s at most, but not all of it: too few"
        " channels (NCCL_MIN_CTAS), links that are down (`nvidia-smi nvlink --status`), or"
        " other work on the GPUs."
    ),
    noted(
        "GPUs that reach each other over PCIe instead of NVLink: look for P2P and NVLS in what"
        " NCCL_DEBUG=INFO prints, and at `nvidia-smi topo -m`."
    ),
    noted(
        "TCP sockets instead of RDMA: the network plugin is not loaded, or NCCL_DEBUG=INFO"
        " prints NET/Socket instead of NET/IB or NET/OFI."
    ),
    noted("One network card in use of several: its {card} are what was reached (NCCL_IB_HCA)."),
    noted(
        "GPUDirect RDMA that is off (NCCL_NET_GDR_LEVEL), PCIe access control (ACS), network cards"
        " left out (NCCL_IB_HCA), or a fabric of less bandwidth than one card per GPU."
    ),
)


def retold_move(said: str) -> str:
    """The move *said* of a sharding plan in the current language."""
    return told_as(MOVES, said) or said


def retold_note(said: str) -> str:
    """The note *said* on a run in the current language, if it has a known form."""
    if language() == SOURCE:
        return said
    before, sign, why = said.partition(": ")
    if before == "On processors, over gloo":  # the reason is a sentence of the catalog
        return translate("On processors, over gloo: {why}.", why=translate(why.removesuffix(".")))
    return told_as(NOTES, said) or said


def retold_limit(said: str) -> str:
    """The limit or the cause *said* of a measured bandwidth in the current language."""
    return told_as(LIMITS, said) or said
