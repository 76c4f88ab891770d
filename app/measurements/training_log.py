"""What the steps of a log have in common: medians after warm-up, and what does not add up."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.formulas.presets import Gpu, gpu_printed_as
from app.formulas.presets.gpus import GPUS
from app.measurements.log_lines import LoggedStep, LogReader
from app.measurements.log_setup import cluster_in, layout_in, model_in
from app.measurements.reports import TrainingLog, join_doubts
from app.units import FLOP_PER_SECOND, SECOND, FlopsPerSecond, Ratio, Seconds, show

_FEW = 10  # steps of which none is left out
_OFF = 0.25  # clock against the printed time
_NEAR = 0.02  # a peak that a log used, against those of datasheets
_SPARSE = 2  # datasheets count 2 of 4 weights as zeros
_COUNTED_OFF = 0.05  # of tokens per second
_WHOLE = "torchtitan"  # the family whose tokens per second are those of all in a step
_WHOLE_TO = 0.02  # of a number of sequences
_PARTLY = 0.75  # of a sequence, below which GPUs share one


@dataclass(frozen=True, slots=True)
class Steady:
    """The steps after warm-up: the first tenth, at least two, of more than ten is left out."""

    steps: Sequence[LoggedStep]
    coarse: bool

    def median(self, name: str) -> float | None:
        """The median of what the steps print as *name*."""
        values = [step.values[name] for step in self.steps if name in step.values]
        return statistics.median(values) if values else None

    def by_clock(self) -> Seconds | None:
        """Seconds of a step by the times at which the lines were written."""
        timed = [step for step in self.steps if step.at is not None]
        pairs = [(a, b) for a, b in zip(timed, timed[1:], strict=False) if b.number > a.number]
        gaps = [((b.at or 0) - (a.at or 0), b.number - a.number) for a, b in pairs]
        if not gaps or sum(gap for gap, _ in gaps) <= 0:
            return None
        if self.coarse:  # whole seconds: only their sum is exact
            return sum(gap for gap, _ in gaps) / sum(count for _, count in gaps)
        return statistics.median(gap / count for gap, count in gaps)


def training_logs(log: LogReader, trouble: str = "") -> Iterator[TrainingLog]:
    """The log that *log* has read; none if it has no steps."""
    numbered = list(log.steps.values())
    steps = numbered or log.unnumbered
    if not steps:
        return
    steady = Steady(_steady(steps), log.coarse)
    aside = Steady(_steady(log.unnumbered), coarse=True)
    time, about_time = _step_time(steady, aside, log)
    tokens, about_tokens = _tokens(steady, time, log)
    flops = steady.median("flops_per_gpu") or aside.median("flops_per_gpu")
    mfu, about_mfu = _utilization(steady.median("mfu"), flops, log)
    if time is None and tokens is None and flops is None and mfu is None:
        return
    left_out = f"{log.left_out} lines of further steps are left out" if log.left_out else ""
    yield TrainingLog(
        family=log.family or "megatron",
        steps=len(steps),
        step_time=time,
        tokens_per_second_per_gpu=tokens,
        flops_per_gpu=flops,
        mfu=mfu,
        doubts=join_doubts([trouble, about_time, about_tokens, about_mfu, left_out]),
        model=model_in(log),
        cluster=cluster_in(log),
        layout=layout_in(log, _batch(steady, log)),
    )


def _steady(steps: Sequence[LoggedStep]) -> Sequence[LoggedStep]:
    return steps[max(2, len(steps) // 10) :] if len(steps) > _FEW else steps


def _step_time(steady: Steady, aside: Steady, log: LogReader) -> tuple[Seconds | None, str]:
    """Seconds of a step: as printed, else by the samples per second, else by the clock."""
    clock = steady.by_clock()
    printed = steady.median("step_time") or aside.median("step_time")
    rate, batch = steady.median("samples_per_second"), _batch(steady, log)
    said = "the log"
    if printed is None and rate and batch:
        printed, said = batch / rate, f"{rate:.4g} samples per second of {batch:g} a step"
    if printed is None or clock is None:
        return printed or clock, ""
    if abs(clock / printed - 1) <= _OFF or (log.coarse and abs(clock - printed) < 1):
        return printed, ""
    return printed, (
        f"{said} says {show(printed, SECOND)} for a step, and its clock says {show(clock, SECOND)}"
    )


def _batch(steady: Steady, log: LogReader) -> float | None:
    """Sequences of a step of all GPUs."""
    return steady.median("global_batch") or log.settings.get("global_batch")


def _tokens(steady: Steady, time: Seconds | None, log: LogReader) -> tuple[float | None, str]:
    """Tokens per second and GPU: as printed, else by batch, sequence, GPUs and time."""
    printed = steady.median("tokens_per_second_per_gpu")
    batch, length = _batch(steady, log), log.settings.get("sequence")
    world = log.settings.get("world")
    if not (batch and length and world and time):
        if log.family != _WHOLE or not (printed and length and time):
            return printed, ""
        return printed, _about_sequences(printed, time, length, world or 1)
    counted = batch * length / world / time
    if printed is None:
        return counted, ""
    if abs(counted / printed - 1) <= _COUNTED_OFF:
        return printed, ""
    return printed, (
        f"the log prints {printed:,.0f} tokens per second and GPU; {batch:g} sequences of {length}"
        f" tokens on {world} GPUs in {show(time, SECOND)} are {counted:,.0f}"
    )


def _about_sequences(printed: float, time: Seconds, length: int, world: int) -> str:
    """A doubt if a step has no whole number of sequences, by the tokens per second and the clock.

    Where several GPUs share a sequence and the log does not say how many GPUs there are, one over
    the sequences of a GPU is whole.
    """
    count = printed * time * world / length
    parts = 1 / count if 0 < count < _PARTLY else count
    if not count or abs(parts - round(parts)) <= _WHOLE_TO * max(parts, 1):
        return ""
    return (
        f"{printed:,.0f} tokens per second in steps of {show(time, SECOND)} are {count:.2f}"
        f" sequences of {length:,} tokens, which should be a whole number: the clock or the tokens"
        " per second are of something else"
    )


def _utilization(
    printed: Ratio | None, flops: FlopsPerSecond | None, log: LogReader
) -> tuple[Ratio | None, str]:
    """The MFU on the dense peak, and a doubt if the log used another."""
    gpu = gpu_printed_as(log.gpu) if log.gpu else None
    peak = _peak(gpu, eight_bits=log.eight_bits)
    if flops is None:
        return printed, "" if printed is None or printed <= 1 else "an MFU above 100 % is not one"
    if printed is None:
        return (flops / peak if peak else None), ""
    used = flops / printed
    if (right := peak or _sparse_of(used)) and abs(used / right - _SPARSE) < _SPARSE * _NEAR:
        return flops / right, (
            f"the log's MFU of {100 * printed:.1f} % divides by {_shown_flops(used)}, the peak with"
            f" sparsity; of the dense {_shown_flops(right)} it is {100 * flops / right:.1f} %"
        )
    if peak and abs(used / peak - 1) > _NEAR:
        return (
            printed,
            f"the log's MFU divides by {_shown_flops(used)}; "
            f"the peak of {log.gpu} is {_shown_flops(peak)}",
        )
    return printed, ""


def _peak(gpu: Gpu | None, *, eight_bits: bool) -> FlopsPerSecond | None:
    if gpu is None:
        return None
    return gpu.peak_8bit if eight_bits and gpu.peak_8bit else gpu.peak


def _sparse_of(used: FlopsPerSecond) -> FlopsPerSecond | None:
    """The dense peak of which *used* is the one with sparsity; None if it is a dense one, too."""
    peaks = {gpu.peak for gpu in GPUS.values()} | {gpu.peak_8bit for gpu in GPUS.values()}
    dense = any(abs(used / peak - 1) < _NEAR for peak in {gpu.peak for gpu in GPUS.values()})
    if dense:
        return None
    doubled = [peak for peak in peaks if peak and abs(used / peak - _SPARSE) < _SPARSE * _NEAR]
    return min(doubled, key=lambda peak: abs(used / peak - _SPARSE), default=None)


def _shown_flops(flops: FlopsPerSecond) -> str:
    return show(flops, FLOP_PER_SECOND)
