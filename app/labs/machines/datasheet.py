"""What the datasheet of a run's GPUs says, as names for the expressions of a lab.

The names begin with `gpu_`. What a lab derives with a name that is unknown is left out.
"""

import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from app.core.expressions import Quantity, names_in, parse_expression
from app.core.formulas.presets import Gpu, gpu_printed_as
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND
from app.labs.machines.machine import MachineFacts
from app.labs.spec import Lab

_PREFIX = "gpu_"
_NVLINK = ("P2P/", "NVLS")  # how NCCL calls transports that may be NVLink
_ROW = re.compile(r"^GPU\d+\s+(.*)$", re.MULTILINE)  # of the matrix of links, after its name
_WIRED = re.compile(r"X|NV\d+")  # a GPU itself, and a bundle of NVLinks
_BF16_SINCE = 2020  # the year of the first GPUs with products of BF16


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Quantities by name, and a note where some are unknown."""

    names: Mapping[str, Quantity] = field(default_factory=dict)
    note: str = ""


NO_DATASHEET = Datasheet()


def is_unknown(text: str, known: Container[str]) -> bool:
    """Whether the expression *text* takes from a datasheet what is not among the *known* names."""
    return _PREFIX in text and any(
        name.startswith(_PREFIX) and name not in known for name in names_in(parse_expression(text))
    )


def datasheet_of(lab: Lab, backend: str, machine: MachineFacts, transport: str) -> Datasheet:
    """The datasheet of the GPUs of *machine*, for a run of *lab*.

    *transport* is what NCCL chose, empty if unknown. A share of the wire needs all ranks to be
    connected by NVLink.
    """
    if backend != "nccl" or not machine.gpus or not _is_used_by(lab):
        return NO_DATASHEET
    names = {str(name) for name in machine.gpus}
    gpu = gpu_printed_as(min(names)) if len(names) == 1 else None
    if gpu is None:
        several = ", ".join(sorted(names))
        return Datasheet(note=f"There is no datasheet of {several} here: no share of a peak is shown.")
    wire = gpu.nvlink if _is_by_nvlink(machine, transport) else 0.0
    return Datasheet(dict(_quantities(gpu, wire)))


def _quantities(gpu: Gpu, wire: float) -> Iterator[tuple[str, Quantity]]:
    has_bf16 = gpu.year >= _BF16_SINCE
    rates = {"wire": wire, "memory_device": gpu.memory_bandwidth}
    peaks = {"bf16": gpu.peak if has_bf16 else 0.0, "fp16": gpu.peak, "fp8": gpu.peak_8bit}
    for name, rate in rates.items():
        if rate:
            yield f"{_PREFIX}{name}", Quantity(rate, BYTE_PER_SECOND.dimension)
    for name, peak in peaks.items():
        if peak:
            yield f"{_PREFIX}peak_{name}", Quantity(peak, FLOP_PER_SECOND.dimension)


def _is_by_nvlink(machine: MachineFacts, transport: str) -> bool:
    """Whether NCCL connected all ranks as NVLink would; where it does not say, within a node.

    P2P is the way over PCIe as well, so all links must be NVLink where they are known.
    """
    rows = [row.split() for row in _ROW.findall(str(machine.topology or ""))]
    if not all(_WIRED.fullmatch(link) for row in rows for link in row[: len(rows)]):
        return False
    if transport:
        return all(way.startswith(_NVLINK) for way in transport.split(", "))
    return machine.nodes in (None, 1)


def _is_used_by(lab: Lab) -> bool:
    return any(_PREFIX in text for one in lab.measures.values() for text in one.derived.values())
