"""The MFU of a run: FLOP per second over the dense peak, whatever the log divided by."""

from dataclasses import dataclass

from app.core.formulas.presets import Gpu, gpu_printed_as
from app.core.formulas.presets.gpus import GPUS
from app.core.measurements.logs.steady import SteadyRun
from app.core.measurements.number_checks import above, highest_peak
from app.core.units import FLOP_PER_SECOND, FlopsPerSecond, Ratio, show

_NEAR = 0.02  # a peak that a log used, against those of datasheets
_SPARSE = 2  # datasheets count 2 of 4 weights as zeros
_FALLBACK = 312e12  # that of the A100, which several programs take for a GPU they do not know
_NOT_ONE = "an MFU above 100 % is not one"
Doubts = list[str]


@dataclass(frozen=True, slots=True)
class _Peaks:
    """The dense peak of the GPU that a log names, and the one by which the log divides."""

    gpu: str
    dense: FlopsPerSecond | None
    highest: FlopsPerSecond  # with the narrowest numbers, else of any GPU
    used: FlopsPerSecond | None
    fault: str


def utilization(steady: SteadyRun) -> tuple[FlopsPerSecond | None, Ratio | None, Doubts]:
    """FLOP per second and GPU, the MFU on the dense peak, and doubts about both."""
    flops, printed = steady.median("flops_per_gpu"), steady.median("mfu")
    peaks = _peaks(steady, flops, printed)
    if flops is not None and above(flops, peaks.highest):
        return None, None, [_about_flops(flops, peaks)]
    if flops is None:
        return (None, *_without_flops(printed, peaks))
    if printed is None:
        return (flops, *_on_peak(flops, peaks))
    return (flops, *_checked(flops, printed, peaks))


def _peaks(steady: SteadyRun, flops: float | None, printed: Ratio | None) -> _Peaks:
    said = steady.run.settings
    gpu = gpu_printed_as(said.gpu) if said.gpu else None
    family = steady.run.family
    of_family = family.mfu_peak if family else 0.0
    used = said.peak or of_family or (flops / printed if flops and printed else None)
    dense = _dense_peak(gpu, eight_bits=said.eight_bits)
    highest = max(gpu.peak, gpu.peak_8bit, gpu.peak_4bit) if gpu else highest_peak()
    return _Peaks(said.gpu, dense, highest, used, family.mfu_of if family else "")


def _dense_peak(gpu: Gpu | None, *, eight_bits: bool) -> FlopsPerSecond | None:
    if gpu is None:
        return None
    return gpu.peak_8bit if eight_bits and gpu.peak_8bit else gpu.peak


def _about_flops(flops: float, peaks: _Peaks) -> str:
    whose = peaks.gpu if peaks.dense else "any GPU that is known here"
    return (
        f"the log prints {_shown(flops)} per GPU, which is more than {_shown(peaks.highest)}, the"
        f" highest peak of {whose}: they are of several GPUs, or counted wrong"
    )


def _without_flops(printed: Ratio | None, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    if printed is None:
        return None, []
    if above(printed, 1.0):
        return None, [f"{_percent(printed)} is printed: {_NOT_ONE}{_because(peaks.fault)}"]
    if peaks.used and peaks.dense and abs(peaks.used / peaks.dense - 1) > _NEAR:
        return _rescaled(printed, peaks.used, peaks.dense, peaks.gpu)
    if peaks.gpu and peaks.fault and not peaks.dense and not _is_the_one(peaks):
        says = f"{_percent(printed)} is printed of {peaks.gpu}, and {peaks.fault}"
        return None, [says]
    return printed, []


def _is_the_one(peaks: _Peaks) -> bool:
    """Whether the GPU is the one whose peak the log takes for every other."""
    return any(name in peaks.gpu for name in ("A100", "H100") if name in peaks.fault)


def _rescaled(printed: Ratio, used: float, dense: float, gpu: str) -> tuple[Ratio | None, Doubts]:
    says = (
        f"the log's MFU of {_percent(printed)} divides by {_shown(used)}; of the dense"
        f" {_shown(dense)} of {gpu} it is {_percent(printed * used / dense)}"
    )
    return printed * used / dense, [says]


def _on_peak(flops: float, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    """The MFU where the log prints none."""
    if peaks.dense is None:
        return None, []
    if above(flops, peaks.dense):
        return None, [_in_fewer_bits(flops, peaks.dense, peaks.gpu)]
    return flops / peaks.dense, []


def _in_fewer_bits(flops: float, dense: float, gpu: str) -> str:
    return (
        f"{_shown(flops)} is more than {_shown(dense)}, the dense peak of {gpu} in 16 bits: in 8"
        " bits, which the log does not say, or counted with sparsity"
    )


def _checked(flops: float, printed: Ratio, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    """The MFU of the FLOP per second and the peak, where both are known, and what is printed."""
    used = flops / printed
    right = peaks.dense or _sparse_of(used)
    if right and abs(used / right - _SPARSE) < _SPARSE * _NEAR:
        return flops / right, [
            f"the log's MFU of {_percent(printed)} divides by {_shown(used)}, the peak with"
            f" sparsity; of the dense {_shown(right)} it is {_percent(flops / right)}"
        ]
    if peaks.dense:
        if above(flops, peaks.dense):
            return None, [_in_fewer_bits(flops, peaks.dense, peaks.gpu)]
        if abs(used / peaks.dense - 1) <= _NEAR:
            return printed, []
        return flops / peaks.dense, [
            f"the log's MFU of {_percent(printed)} divides by {_shown(used)};"
            f" the peak of {peaks.gpu} is {_shown(peaks.dense)}, of which it is"
            f" {_percent(flops / peaks.dense)}"
        ]
    return _unknown_gpu(printed, used, peaks)


def _unknown_gpu(printed: Ratio, used: float, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    """What holds where the peak of the GPU is not known here."""
    fallback = abs(used / _FALLBACK - 1) <= _NEAR
    whose = f"; the peak of {peaks.gpu} is not known here" if peaks.gpu else ""
    if above(printed, 1.0) or (fallback and peaks.gpu and "A100" not in peaks.gpu):
        of = f" divides by {_shown(used)}"
        named = ", the peak of an A100" if fallback else ""
        not_one = f": {_NOT_ONE}" if above(printed, 1.0) else ""
        says = f"the log's MFU of {_percent(printed)}{of}{named}{not_one}{whose}"
        return None, [says + _because(peaks.fault)]
    return printed, []


def _because(fault: str) -> str:
    return f"; {fault}" if fault else ""


def _sparse_of(used: FlopsPerSecond) -> FlopsPerSecond | None:
    """The dense peak of which *used* is the one with sparsity; None if it is a dense one, too."""
    peaks = {gpu.peak for gpu in GPUS.values()} | {gpu.peak_8bit for gpu in GPUS.values()}
    dense = any(abs(used / peak - 1) < _NEAR for peak in {gpu.peak for gpu in GPUS.values()})
    if dense:
        return None
    doubled = [peak for peak in peaks if peak and abs(used / peak - _SPARSE) < _SPARSE * _NEAR]
    return min(doubled, key=lambda peak: abs(used / peak - _SPARSE), default=None)


def _percent(share: Ratio) -> str:
    return f"{100 * share:.1f} %"


def _shown(flops: FlopsPerSecond) -> str:
    return show(flops, FLOP_PER_SECOND)
