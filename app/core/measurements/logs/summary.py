"""What the steps of a run have in common: medians after warm-up, MFU, and what does not add up."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from app.core.formulas.presets import gpu_printed_as
from app.core.formulas.presets.gpus import GPUS
from app.core.measurements.logs.families import family_title
from app.core.measurements.logs.layout import printed_cluster, printed_layout, printed_model, world_of
from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.runs import FEWEST_STEADY, LogRun, SteadyRun, batch_of, is_warm_up, measured_step_time
from app.core.measurements.number_checks import exceeds, highest_peak
from app.core.measurements.reports import TrainingLog, join_doubts
from app.core.units import FLOP_PER_SECOND, SECOND, FlopsPerSecond, Ratio, Seconds, show

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
    fixed: bool  # whether the log may divide by the peak of another GPU


def utilization(steady: SteadyRun) -> tuple[FlopsPerSecond | None, Ratio | None, Doubts]:
    """FLOP per second and GPU, the MFU on the dense peak, and doubts about both."""
    flops, printed = steady.median("flops_per_gpu"), steady.median("mfu")
    family = steady.run.family
    if printed is not None and family and family.mfu_phase:
        return flops, *_of_a_phase(printed, steady, family.mfu_phase)
    peaks = _peaks(steady, flops, printed)
    if flops is not None and exceeds(flops, peaks.highest):
        whose = peaks.gpu if peaks.dense else "any GPU that is known here"
        says = (
            f"the log prints {_shown(flops)} per GPU, which is more than {_shown(peaks.highest)}, the"
            f" highest peak of {whose}: they are of several GPUs, or counted wrong"
        )
        return None, None, [says]
    if flops is None:
        return (None, *_without_flops(printed, peaks))
    if printed is None:
        return (flops, *_on_peak(flops, peaks))
    return (flops, *_plausible_mfu(flops, printed, peaks))


def _of_a_phase(printed: Ratio, steady: SteadyRun, phase: str) -> tuple[Ratio | None, Doubts]:
    """The MFU of the whole step, where the log has that of one *phase* of it."""
    time, step = steady.median("phase_time"), steady.median("step_time")
    says = f"the log's MFU of {_percent(printed)} is that of {phase} alone"
    if not time or not step or time > step:
        return None, [says]
    share = printed * time / step
    took = f"{show(time, SECOND)} of the {show(step, SECOND)} of a step, of which it is {_percent(share)}"
    return share, [f"{says}, which takes {took}"]


def _peaks(steady: SteadyRun, flops: float | None, printed: Ratio | None) -> _Peaks:
    said = steady.run.settings
    gpu = gpu_printed_as(said.gpu) if said.gpu else None
    family = steady.run.family
    of_family = family.mfu_peak if family else 0.0
    used = said.peak or of_family or (flops / printed if flops and printed else None)
    dense = gpu.peak if gpu else None
    if gpu and said.eight_bits and gpu.peak_8bit:
        dense = gpu.peak_8bit
    highest = max(gpu.peak, gpu.peak_8bit, gpu.peak_4bit) if gpu else highest_peak()
    fault, fixed = (family.mfu_of, family.mfu_fixed) if family else ("", False)
    return _Peaks(said.gpu, dense, highest, used, fault, fixed and not said.peak)


def _without_flops(printed: Ratio | None, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    if printed is None:
        return None, []
    if not peaks.gpu and peaks.fault and peaks.fixed:
        return None, [f"{_percent(printed)} is printed, no GPU is, and {peaks.fault}: say which GPU it was"]
    if exceeds(printed, 1.0):
        return None, [f"{_percent(printed)} is printed: {_NOT_ONE}{_because(peaks.fault)}"]
    if peaks.used and peaks.dense and abs(peaks.used / peaks.dense - 1) > _NEAR:
        says = (
            f"the log's MFU of {_percent(printed)} divides by {_shown(peaks.used)}; of the dense"
            f" {_shown(peaks.dense)} of {peaks.gpu} it is {_percent(printed * peaks.used / peaks.dense)}"
        )
        return printed * peaks.used / peaks.dense, [says]
    is_that_gpu = any(name in peaks.gpu for name in ("A100", "H100") if name in peaks.fault)
    if peaks.gpu and peaks.fault and not peaks.used and not is_that_gpu:
        return None, [f"{_percent(printed)} is printed of {peaks.gpu}, and {peaks.fault}"]
    return printed, []


def _on_peak(flops: float, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    """The MFU where the log prints none."""
    if peaks.dense is None:
        return None, []
    if exceeds(flops, peaks.dense):
        return None, [_in_fewer_bits(flops, peaks.dense, peaks.gpu)]
    return flops / peaks.dense, []


def _in_fewer_bits(flops: float, dense: float, gpu: str) -> str:
    return (
        f"{_shown(flops)} is more than {_shown(dense)}, the dense peak of {gpu} in 16 bits: in 8"
        " bits, which the log does not say, or counted with sparsity"
    )


def _plausible_mfu(flops: float, printed: Ratio, peaks: _Peaks) -> tuple[Ratio | None, Doubts]:
    """The MFU of the FLOP per second and the peak, where both are known, and what is printed."""
    used = flops / printed
    right = peaks.dense or _sparse_of(used)
    if right and abs(used / right - _SPARSE) < _SPARSE * _NEAR:
        return flops / right, [
            f"the log's MFU of {_percent(printed)} divides by {_shown(used)}, the peak with"
            f" sparsity; of the dense {_shown(right)} it is {_percent(flops / right)}"
        ]
    if peaks.dense:
        if exceeds(flops, peaks.dense):
            return None, [_in_fewer_bits(flops, peaks.dense, peaks.gpu)]
        if abs(used / peaks.dense - 1) <= _NEAR:
            return printed, []
        return flops / peaks.dense, [
            f"the log's MFU of {_percent(printed)} divides by {_shown(used)}; the peak of {peaks.gpu} is"
            f" {_shown(peaks.dense)}, of which it is {_percent(flops / peaks.dense)}"
        ]
    fallback = abs(used / _FALLBACK - 1) <= _NEAR
    whose = f"; the peak of {peaks.gpu} is not known here" if peaks.gpu else ""
    if exceeds(printed, 1.0) or (fallback and peaks.gpu and "A100" not in peaks.gpu):
        of = f" divides by {_shown(used)}"
        named = ", the peak of an A100" if fallback else ""
        not_one = f": {_NOT_ONE}" if exceeds(printed, 1.0) else ""
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


_COUNTED_OFF = 0.05  # of tokens per second
_WHOLE = "torchtitan"  # the family whose tokens per second are those of all in a step
_WHOLE_TO = 0.02  # of a number of sequences
_PARTLY = 0.75  # of a sequence, below which GPUs share one
_PER_PARAMETER = 6  # FLOP for a token, forward and backward
_MOST_PARAMETERS = 2e12
_IN_TURN = 2  # steps, at most, between lines of another run
_SHOWN = ("step_time", "tokens_per_second_per_gpu", "tokens_per_second", "flops_per_gpu", "mfu")
_UNSTEADY = 3  # between the quartiles of the steps


def training_logs(log: LogReader, trouble: str = "") -> Iterator[TrainingLog]:
    """The runs that *log* has read, each with what its steps have in common."""
    found = [report for run in log.finish() if (report := _report(run))]
    left_out = f"{log.left_out} lines of further runs are left out" if log.left_out else ""
    for number, report in enumerate(found, 1):
        several = ""
        if len(found) > 1:
            turns = statistics.median(one.steps for one in found) <= _IN_TURN < len(found)
            how = "lines of several runs stand in turn" if turns else "each has steps of its own"
            several = f"run {number} of {len(found)} in this text: {how}"
        yield report.doubted([trouble, several, left_out])


def _report(run: LogRun) -> TrainingLog | None:
    """What *run* says; None if it has no number."""
    steady = SteadyRun.of(run)
    time, about_time = measured_step_time(steady)
    tokens, about_tokens = _tokens(steady, time)
    flops, mfu, about_mfu = utilization(steady)
    tokens, about_size = _of_some_model(tokens, flops)
    if time is None and tokens is None and flops is None and mfu is None and not about_mfu:
        return None
    batch = batch_of(steady)
    model, layout = printed_model(run.settings), printed_layout(run.settings, batch)
    return TrainingLog(
        family=steady.family,
        steps=steady.count,
        step_time=time,
        tokens_per_second_per_gpu=tokens,
        flops_per_gpu=flops,
        mfu=mfu,
        doubts=join_doubts(
            [about_time, about_size or about_tokens, *about_mfu, *_about_run(run, steady), _unsteady(steady)]
        ),
        model=model.text,
        cluster=printed_cluster(run.settings),
        layout=layout.text,
        model_guesses=model.guesses,
        layout_guesses=layout.guesses,
        printed=model.printed,
        missing=model.missing,
    )


def _about_run(run: LogRun, steady: SteadyRun) -> Iterator[str]:
    """Doubts about the text itself."""
    left_out = sum(count.left_out for count in run.counts.values())
    if left_out:
        yield f"{left_out} lines of further steps are left out"
    odd = {name: text for name, text in run.odd.items() if steady.median(name) is None}
    if odd:
        listed = ", ".join(f"{text} ({name.replace('_', ' ')})" for name, text in odd.items())
        yield f"left out for an unknown unit right behind the number: {listed}"
    if run.summary and not steady.each("step_time") and steady.by_clock()[0] is None:
        yield "the time of a step is that of the whole run, with all that lies between its steps"
    if run.broken:
        yield "lines of another run lie between these steps: its settings may be of the other"
    if run.cut_off:
        yield "the text ends with a number, which may go on"
    own = {name for count in run.counts.values() for name in count.family.settings_of}
    for name in sorted(run.settings.printed_by - own) if run.counts else ():
        how = f"settings are printed as {family_title(name)} does, and these steps are not"
        yield f"{how}: they may be of another run"
    for key, one, other in run.settings.contradicted.values():
        yield f"the log says {key} twice, {one} and {other}: neither is used"


def _unsteady(steady: SteadyRun) -> str:
    """A doubt if steps differ so much that a median says little."""
    of = next((name for name in _SHOWN if is_warm_up(steady.each(name))), "")
    if of:
        called = of.replace("_", " ").replace("per gpu", "per GPU")
        return f"the {called} differs by more than half between the few steps: that of the last is shown"
    times = sorted(steady.each("step_time"))
    if len(times) < FEWEST_STEADY:
        return ""
    low, _, high = statistics.quantiles(times, n=4)
    if high <= _UNSTEADY * low:
        return ""
    return (
        f"a quarter of the steps takes less than {show(low, SECOND)}, and a quarter more than"
        f" {show(high, SECOND)}: steps of several kinds, or of several runs"
    )


def _tokens(steady: SteadyRun, time: Seconds | None) -> tuple[float | None, str]:
    """Tokens per second and GPU: as printed, else by batch, sequence, GPUs and time."""
    said = steady.run.settings
    printed, world = steady.median("tokens_per_second_per_gpu"), world_of(said)
    every, of_all = steady.median("tokens_per_second"), ""
    if printed is None and every and world:
        printed = every / world
        of_all = f"the log prints {every:,.0f} tokens per second, which are divided by {world} GPUs here"
    if printed is None and every is not None:
        of_all = (
            f"the log prints {every:,.0f} tokens per second of all GPUs together, and does not say how many GPUs there"
            " are"
        )
    batch, length = batch_of(steady), said.count("sequence")
    if not (batch and length and world and time):
        if steady.family != _WHOLE or not (printed and length and time):
            return printed, of_all
        return printed, _about_sequences(printed, time, length, world or 1)
    counted = batch * length / world / time
    if printed is None or abs(counted / printed - 1) <= _COUNTED_OFF:
        return printed or counted, ""  # both sources agree, or there is one
    return printed, (
        f"the log prints {printed:,.0f} tokens per second and GPU; {batch:g} sequences of {length}"
        f" tokens on {world} GPUs in {show(time, SECOND)} are {counted:,.0f}"
    )


def _of_some_model(tokens: float | None, flops: FlopsPerSecond | None) -> tuple[float | None, str]:
    """Tokens per second, if a model can need that many FLOP for each, at about 6 per parameter; else a doubt."""
    if not tokens or not flops or flops / tokens <= _PER_PARAMETER * _MOST_PARAMETERS:
        return tokens, ""
    size = flops / tokens / _PER_PARAMETER
    return None, (
        f"{tokens:,.4g} tokens per second at {show(flops, FLOP_PER_SECOND)} would be a model of"
        f" {size / 1e12:,.3g} trillion parameters: one of the numbers is of something else, or cut"
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
        f"{printed:,.0f} tokens per second in steps of {show(time, SECOND)} are {count:.2f} sequences of {length:,}"
        " tokens, which should be a whole number: the clock or the tokens per second are of something else"
    )
