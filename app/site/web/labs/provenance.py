"""Where a run ran: what matters for its numbers, and everything else that is known."""

from collections.abc import Iterator

from app.core.translation import Numeral, translate
from app.core.units import BYTE, show
from app.labs.machines.machine import Fact
from app.labs.results.report import Report
from app.site.web.labs.labels import machine_of, size_label

Row = tuple[str, str]


def what_matters(report: Report) -> Iterator[Row]:
    """The machine, the versions, and what limits or disturbs it."""
    machine = report.machine
    yield translate("machine"), machine_of(report)
    yield translate("backend"), f"{report.backend}, {size_label(report)}"
    yield from _known((translate("system"), machine.system), (translate("driver"), machine.driver))
    yield from report.versions.items()
    yield from _known(
        (translate("power limit"), machine.power_limit),
        (translate("highest clock"), machine.clocks),
        (translate("nodes"), machine.nodes if machine.nodes != 1 else None),
        (translate("sharing"), machine.sharing),
        (translate("others on the GPUs"), machine.others),
        (translate("load before the run"), machine.load and Numeral(machine.load)),
    )


def the_rest(report: Report) -> Iterator[Row]:
    """What else is known about the machine."""
    machine = report.machine
    memory = machine.memory_bytes
    yield from _known(
        (translate("processor"), machine.processor),
        (translate("cores"), machine.cores),
        (translate("memory"), show(memory, BYTE) if isinstance(memory, int | float) else memory),
        ("Python", machine.python),
        (translate("memory of a GPU"), machine.gpu_memory),
        ("ECC", machine.ecc),
        ("MIG", machine.mig),
        (translate("persistence mode"), machine.persistence),
        (translate("compute mode"), machine.compute_mode),
        ("PCIe", machine.pcie),
        (translate("GPUs that reach each other's memory"), machine.peers),
    )


def listings(report: Report) -> Iterator[Row]:
    """What is known of the machine in lines: variables, UUIDs and the links between GPUs."""
    machine = report.machine
    lines = (
        (translate("Variables that change what is measured"), "\n".join(map(str, machine.variables))),
        (translate("UUIDs of the GPUs"), "\n".join(map(str, machine.uuids))),
        (translate("Links between the GPUs, as the vendor's tool prints them"), machine.topology or ""),
    )
    yield from ((name, str(text)) for name, text in lines if text)


def _known(*rows: tuple[str, Fact | None]) -> Iterator[Row]:
    yield from ((name, str(fact)) for name, fact in rows if fact is not None)
