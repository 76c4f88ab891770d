"""`wallclock measured`: what a job printed or recorded, in base units or beside the formulas."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from app.commands.files import STANDARD, record_text
from app.core.errors import InputError, sentence
from app.core.formulas.presets import Cluster
from app.core.measurements.file_reader import Report
from app.core.measurements.logs.families import family_title
from app.core.measurements.logs.layout import RECORDS, guesses_of, predicted_step, records_of
from app.core.measurements.memory_shortage import ShortageExplanation, explain_shortage, names_of
from app.core.measurements.packed_files import UNPACKED_LIMIT
from app.core.measurements.pieces import ABOVE_THE_WIRE, Comparison, compare_test
from app.core.measurements.reports import CollectiveTest, Json, MemoryShortage, TrainingLog, UnreadFile
from app.core.measurements.trace.report import TraceReport, levers
from app.core.units import BYTE_PER_SECOND, FLOP_PER_SECOND, RATIO, SECOND, show, show_size
from app.server.aside.measured_files import measured_apart


def trace_lines(report: TraceReport) -> Iterator[str]:
    """The report in lines."""
    wall = report.tolls.wall
    steps = f"{report.steps:,} {'step' if report.steps == 1 else 'steps'}"
    yield f"trace of {_whose(report)}, {steps} in {show(wall, SECOND)}"
    for name, time in _tolls(report):
        yield f"  {name:<26}{show(time, SECOND, 3):>10}{100 * time / (wall or 1):8.1f} %"
    communication = report.tolls.communication
    if communication:
        hidden = 100 * report.tolls.overlapped_communication / communication
        yield f"  communication {show(communication, SECOND, 3)}, of which {hidden:.1f} % is hidden"
    for one in report.collectives:
        size = f", {show_size(one.size)}" if one.size else ""
        rate = ""
        if one.bandwidth is not None:
            at_least = "at least " * (report.ranks == 1)
            rate = f", busbw {at_least}{show(one.bandwidth, BYTE_PER_SECOND, 3)}"
        yield f"  {one.kind}: {one.count:,} in {show(one.time, SECOND, 3)}{size}{rate}"
    for lever in levers(report)[:1]:
        yield f"  try first, for at most {show(lever.saves, SECOND, 3)}: {lever.says}"


def _whose(report: TraceReport) -> str:
    rank = "one rank" if report.rank is None else f"rank {report.rank}"
    of = f" of {report.world:,}" if report.world else ""
    on = f" on {report.hardware}" if report.hardware else ""
    return f"{rank}{of}{on}"


def _tolls(report: TraceReport) -> Iterator[tuple[str, float]]:
    tolls = report.tolls
    yield "compute", tolls.compute
    yield "exposed communication", tolls.exposed_communication - report.exposed_skew
    if report.last:
        yield "waiting for other ranks", report.exposed_skew
    yield "exposed copies", tolls.exposed_copies
    yield "host stalls", tolls.host
    yield f"waiting ({'streams' if report.alone else 'bubble, streams'})", tolls.waiting
    if tolls.unexplained:
        yield "idle, launch unknown", tolls.unexplained


_PIECE = 1 << 20
_SHOWN = 12  # rows of a table; the figure has all
_MOST_FILES = 1024


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock measured`."""
    parser.add_argument(
        "file",
        nargs="+",
        metavar="FILE",
        help="output of nccl-tests or rccl-tests, a profiler trace, a training log, an error; -: standard input",
    )
    parser.add_argument("--cluster", metavar="C", help='to compare with, such as "DGX-H100" (default: by the GPU)')
    for name, example in (("model", "Llama-3.1-8B"), ("layout", "tensor=2 data=8")):
        parser.add_argument(
            f"--{name}",
            metavar=name[0].upper(),
            help=f'of a training log, such as "{example}" (default: as the log says)',
        )
    parser.add_argument("--json", action="store_true", help="print JSON, in base units")


def run(arguments: Namespace) -> int:
    """Print what is in the files; 1 if one of them cannot be read."""
    cluster = Cluster.read(arguments.cluster) if arguments.cluster else None
    if len(arguments.file) > _MOST_FILES:
        raise InputError(f"at most {_MOST_FILES} files can be read at once")
    with _paths(arguments.file) as paths:
        found = _reports(paths)
    given = {name: record_text(getattr(arguments, name) or "") for name in RECORDS}
    if arguments.json:
        sys.stdout.write(f"{json.dumps([_record(one, given) for one in found], indent=1)}\n")
    else:
        parts = ["\n".join(_report_lines(one, cluster, given)) for one in found]
        sys.stdout.write("\n\n".join(parts) + "\n")
    return 1 if any(isinstance(one, UnreadFile) for one in found) else 0


def _record(report: Report, given: Mapping[str, str]) -> dict[str, Json]:
    """What `--json` prints: of an error, the tensors of that size and what to change, too."""
    if not isinstance(report, MemoryShortage):
        return report.record()
    found = _explained(report, given)
    tensors: list[Json] = [
        {
            "tensor": one.name,
            "arithmetic": one.arithmetic,
            "size": one.size,
            "off": one.off,
            "tokens": one.tokens or None,
            "models": list(one.models),
        }
        for one in found.candidates
    ]
    cures: list[Json] = [{"change": one.says, "of": one.of, "saves": one.saves} for one in found.cures]
    return {**report.record(), "tensors": tensors, "changes": cures, "notes": list(found.notes)}


def _explained(found: MemoryShortage, given: Mapping[str, str]) -> ShortageExplanation:
    try:
        return explain_shortage(found, given)
    except (ValueError, ArithmeticError) as error:
        raise InputError(str(error)) from error


@contextmanager
def _paths(names: Sequence[str]) -> Iterator[list[Path]]:
    """The files; standard input becomes one."""
    if STANDARD not in names:
        yield [Path(name) for name in names]
        return
    with TemporaryDirectory(prefix="wallclock-") as folder:
        spooled = Path(folder, "standard input")
        _spool(spooled)
        yield [spooled if name == STANDARD else Path(name) for name in names]


def _spool(target: Path) -> None:
    left = UNPACKED_LIMIT
    with target.open("wb") as file:
        while piece := sys.stdin.buffer.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise InputError(f"standard input holds more than {UNPACKED_LIMIT >> 20} MiB")
            file.write(piece)


def _reports(paths: Sequence[Path]) -> list[Report]:
    """The reports; if all together are too much, each file by itself."""
    try:
        return measured_apart(paths)
    except InputError as error:
        if len(paths) == 1:
            return [UnreadFile(f"{paths[0].name}: {error}")]
    return [one for path in paths for one in _reports([path])]


def _report_lines(report: Report, cluster: Cluster | None, given: Mapping[str, str]) -> Iterator[str]:
    match report:
        case CollectiveTest():
            yield from _test(report, cluster)
        case TrainingLog():
            yield from _log(report, given)
        case MemoryShortage():
            yield from _shortage(report, _explained(report, given))
        case TraceReport():
            yield from trace_lines(report)
        case _:
            yield f"not read: {report.error}"
            return
    for doubt in report.doubts:
        yield f"  doubt: {sentence(doubt)}"


def _test(test: CollectiveTest, cluster: Cluster | None) -> Iterator[str]:
    ranks = f"{test.ranks:,} {_of(test.ranks, 'rank')}" if test.ranks else "unknown ranks"
    hardware = f" ({test.hardware})" if test.hardware else ""
    yield f"{test.collective or 'unknown collective'} on {ranks}{hardware}, {len(test.rows)} sizes"
    if test.rows:
        yield f"  {'size':>10}  {'time':>10}  {'algbw':>12}  {'busbw':>12}"
    stride = -(-len(test.rows) // _SHOWN) or 1
    for row in list(test.rows)[::-1][::stride][::-1]:
        bandwidths = "".join(f"  {show(v, BYTE_PER_SECOND, 3):>12}" for v in (row.algbw, row.busbw))
        yield f"  {show_size(row.size):>10}  {show(row.time, SECOND, 3):>10}{bandwidths}"
    for piece in test.pieces:
        yield (
            f"  {show_size(piece.first)} to {show_size(piece.last)}:"
            f" {show(piece.alpha, SECOND, 3)} + size / {show(piece.bandwidth, BYTE_PER_SECOND, 3)}"
        )
    yield from _largest_size_beside(compare_test(test, cluster))


def _of(count: int, name: str) -> str:
    return name if count == 1 else f"{name}s"


def _largest_size_beside(found: Comparison | None) -> Iterator[str]:
    """The largest size beside the wire and the formulas."""
    if found is None:
        return
    wire = show(found.wire, BYTE_PER_SECOND, 3)
    yield (
        f"  reached {show(found.row.busbw, BYTE_PER_SECOND, 3)}:"
        f" {100 * found.share:.0f} % of {found.which}, {wire} ({found.cluster.name})"
    )
    if found.predicted is not None:
        yield (
            f"  {show_size(found.row.size)} in {show(found.row.time, SECOND)}; the formula on"
            f" that wire says {show(found.predicted, SECOND)} without latency"
        )
    if found.in_switch is not None:
        yield f"  with sums in the switch it says {show(found.in_switch, SECOND)}"
    if found.cause:
        yield f"  likely cause: {found.cause}"
    if found.above:
        yield f"  more than the wire: {found.above} See /errata/{ABOVE_THE_WIRE}."


def _log(log: TrainingLog, given: Mapping[str, str]) -> Iterator[str]:
    yield f"training log of {family_title(log.family)}, {log.steps:,} {_of(log.steps, 'step')}"
    if log.step_time is not None:
        yield f"  step        {show(log.step_time, SECOND)}, after warm-up"
    if log.tokens_per_second_per_gpu is not None:
        tokens = show(log.tokens_per_second_per_gpu, RATIO)
        yield f"  throughput  {tokens} tokens per second and GPU"
    if log.flops_per_gpu is not None:
        yield f"  per GPU     {show(log.flops_per_gpu, FLOP_PER_SECOND)}"
    if log.mfu is not None:
        yield f"  MFU         {100 * log.mfu:.1f} % of the dense peak"
    yield from _prediction(log, given)


def _prediction(log: TrainingLog, given: Mapping[str, str]) -> Iterator[str]:
    """The predicted step, what of it is a guess, or what it takes besides the log."""
    try:
        step = predicted_step(log, given)
    except (ValueError, ArithmeticError) as error:
        raise InputError(str(error)) from error
    if step:
        yield f"  for {', '.join(records_of(log, given).values())}:"
        yield f"  {step.says}"
        for part, time, share in step.parts[1:]:
            yield f"  {part:<12}  {time:>10}  {share:>7}"
        if guesses := guesses_of(log, given):
            yield f"  guessed, since the log does not print it: {', '.join(guesses)}"
    elif log.missing and not given["model"]:
        asked = " ".join(f"{name}=..." for name in log.missing)
        yield f'  to predict a step, give --model "{log.printed} {asked}"'


def _shortage(found: MemoryShortage, told: ShortageExplanation) -> Iterator[str]:
    printed = f", printed {found.times:,} times" if found.times > 1 else ""
    yield f"out of memory, by {found.program}{printed}"
    yield f"  {told.headline}"
    if told.says:
        yield f"  {told.says}"
    for name, size in told.account:
        yield f"  {name:<40}{show_size(size, 4):>12}"
    for one in told.candidates:
        yield f"  {one.name} ({names_of(one)}):"
        yield f"    {one.arithmetic}, {one.match}"
    for of, cures in groupby(told.cures, key=lambda cure: cure.of):
        yield f"  to save, of {of}, at most:"
        for cure in cures:
            yield f"  {show_size(round(cure.saves), 4):>12}  {cure.says}"
    for note in told.notes:
        yield f"  note: {note}"
    if found.tokens:
        return
    model = f' --model "{told.model.name}"' if told.model else " --model ..."
    cluster = f' --cluster "{found.ranks} {told.gpus[0].name}"' if told.gpus else " --cluster ..."
    yield f"  does it fit? wallclock predict{model}{cluster} --layout ..."
