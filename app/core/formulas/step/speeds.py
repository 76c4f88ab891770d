"""What a cluster reaches, once its peaks are multiplied with the shares."""

from typing import NamedTuple


class Net(NamedTuple):
    """Links inside a domain and between domains, as collectives use them.

    *ranks* GPUs are in a domain. *inside* and *across* are bytes per second of one GPU.
    """

    ranks: int
    inside: float
    inside_start: float
    inside_step: float
    ramp: float
    across: float
    across_start: float
    across_step: float
    message: float


class Speeds(NamedTuple):
    """Rates of a GPU, its links, and the shares that have no rate.

    *products* is the rate of the layers' products, *exact* that of the head and of attention, in 16
    bits; *memory* is what element-wise kernels reach of the memory's *bandwidth*; *units* are the
    multiprocessors over which tiles are spread; *casts* are the bytes that are moved for every
    element that is cast to fewer bits.
    """

    products: float
    exact: float
    grouped: float
    memory: float
    bandwidth: float
    units: int
    casts: float
    fused: bool
    net: Net
    hidden_tensor: float
    hidden_context: float
    hidden_expert: float
    hidden_data: float  # below 0: what the schedule of a framework hides
    skew: float


class Reduced(NamedTuple):
    """Bytes of a gradient as it is reduced, and of a weight as it is gathered."""

    gradient: float = 2.0
    weight: float = 2.0
