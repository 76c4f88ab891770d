"""Whether a run that is sent in can be compared: whether it can be true, and was undisturbed."""

from collections.abc import Iterable, Iterator

from app.core.errors import InputError
from app.core.formulas.presets import GPUS, Gpu
from app.core.translation import translate
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND, RATIO, Unit, parse, scale_of, show
from app.labs.results.disturbance import WHAT_TO_DO
from app.labs.results.notes import localized_note
from app.labs.results.report import Measure, Report
from app.labs.spec import lab_called

_SLACK = 2.0  # a switch that adds on the way doubles what a link seems to carry
_PCIE = parse("64 GB/s", BYTE_PER_SECOND)  # one direction of PCIe 5.0 with 16 lanes (PCI-SIG)
_CACHE = 10.0  # how much faster than its memory the caches of a processor or GPU may be


def refuse_impossible(report: Report) -> None:
    """Refuse a run that is faster than twice what its hardware, or any that is known, allows.

    The rates are those that the lab derives, at the fastest sample.

    Raises:
        InputError: a rate of *report* is impossible; the message says which.
    """
    known = list(_gpus_of(report)) or list(GPUS.values())
    is_alone = report.ranks == 1 or lab_called(report.lab).run_over(report.backend).alone
    for one in report.measures:
        if not one.least and one.derived:
            raise InputError(translate("{name}: nothing takes no time at all", name=one.name))
        for name, value, unit in _rates(one):
            most = _most(known, unit, is_alone=is_alone)
            if value > most:
                raise InputError(
                    translate(
                        "{name} of {value} is impossible: this hardware reaches {most} at most",
                        name=name,
                        value=show(value, unit),
                        most=show(most, unit),
                    )
                )


def refuse_disturbed(report: Report) -> None:
    """Refuse a run that something disturbed.

    Raises:
        InputError: something did; the message says what, and what to do.
    """
    if report.doubts:
        seen = " ".join(map(localized_note, report.doubts))
        what_to_do = translate(WHAT_TO_DO)
        raise InputError(translate("this run was disturbed. {seen} {what_to_do}", seen=seen, what_to_do=what_to_do))


def _gpus_of(report: Report) -> Iterator[Gpu]:
    """The GPUs with the model's name in theirs: the H100 as a card and as a module are both."""
    words = " ".join(map(str, report.machine.gpus)).replace("-", " ").upper().split()
    if report.backend == "nccl":
        yield from (gpu for name, gpu in GPUS.items() if name.split()[0].upper() in words)


def _rates(one: Measure) -> Iterator[tuple[str, float, Unit]]:
    """Each rate that follows from the median, at the fastest sample."""
    for name, derived in one.derived.items():
        symbol = derived.shown.partition(" ")[2]
        unit = scale_of(symbol).unit if symbol else RATIO
        if unit in (BYTE_PER_SECOND, FLOP_PER_SECOND):
            yield name, derived.value * one.median / one.least, unit


def _most(known: Iterable[Gpu], unit: Unit, *, is_alone: bool) -> float:
    """The highest rate in *unit*: of arithmetic, of links, or of one rank's own memory."""
    if unit == FLOP_PER_SECOND:
        return _SLACK * max(max(gpu.peak, gpu.peak_8bit) for gpu in known)
    if is_alone:
        return _CACHE * max(gpu.memory_bandwidth for gpu in known)
    return _SLACK * max(max(gpu.nvlink, _PCIE) for gpu in known)
