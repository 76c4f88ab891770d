"""What the readers say of the published measurements, written to `exhibits.json`."""

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from app.measurements.comparing import compared
from app.measurements.exhibits import FILE, Exhibit
from app.measurements.published import (
    PublishedMeasurement,
    published_logs,
    published_tests,
    text_of,
)
from app.measurements.ranks import factor_of
from app.measurements.reports import CollectiveTest, TrainingLog
from app.measurements.table import RawRow, Table
from app.measurements.tables import TableReader
from app.measurements.trace.reading import read_trace
from app.measurements.trace.report import TraceReport
from app.measurements.trace.samples import SAMPLES, TraceSample

Quantities = dict[str, tuple[float, str]]
_DEVICES = 4  # lines of ranks that are shown; of more, the first and the last
_MILLI = 1e-3
_COLUMNS = "{:>14}{:>13}{:>8}{:>8}{:>6}{:>11}{:>10}{:>10}{:>8}".format
_RANK = re.compile(r"#\s+Rank\s+\d+ .*")
_PLAIN = "CSCS Alps, GH200, two nodes"
_SHORT = {"gh200-8-slingshot": _PLAIN, "gh200-8-sockets": _PLAIN}  # which tells no cause


def exhibits_read() -> Mapping[str, Exhibit]:
    """Every exhibit, as the readers read the samples now."""
    found = {name: _of_test(one) for name, one in published_tests().items()}
    found |= {name: _of_log(one) for name, one in published_logs().items()}
    return found | {sample.name: _of_trace(sample) for sample in SAMPLES}


def _of_test(one: PublishedMeasurement) -> Exhibit:
    reader = TableReader()
    for line in text_of(one.name).splitlines():
        if not line.startswith("# ranks:"):  # which says what the bandwidths say
            reader.take(line)
    (table,) = reader.finish()
    report = one.report
    if not isinstance(report, CollectiveTest):
        raise TypeError(f"{one.name} is no test")
    ranks = _RANK.findall(text_of(one.name))
    return Exhibit(
        address=one.address,
        hardware=_SHORT.get(one.name, one.hardware.partition(";")[0]),
        text="\n".join([*_shortened(ranks), *_printed(table)]),
        quantities=_quantities_of_test(report, table),
    )


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    """*lines*; of many the first and the last."""
    return lines if len(lines) <= _DEVICES else [lines[0], "#  ...", lines[-1]]


def _printed(table: Table) -> Iterator[str]:
    """The table out of place, with its values as they were printed."""
    names = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong")
    units = ("(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "")
    for line in (names, units):
        yield f"#{_COLUMNS(*line)[1:].rstrip()}"
    for row in table.rows:
        if row.size:
            yield _row(row)
    if table.average is not None:
        yield f"# Avg bus bandwidth    : {table.average:g}"


def _row(row: RawRow) -> str:
    time, algbw, busbw, wrong = (*row.out_of_place, "")[:4]
    root = "" if row.root is None else row.root
    values = (time, algbw, busbw, wrong)
    return _COLUMNS(row.size, row.count, row.type, row.redop, root, *values).rstrip()


def _quantities_of_test(test: CollectiveTest, table: Table) -> Quantities:
    largest = max(test.rows, key=lambda row: row.size)
    mean = statistics.fmean(row.busbw for row in test.rows)
    found: Quantities = {
        "size": (largest.size, "B"),
        "time": (largest.time, "s"),
        "algbw": (largest.algbw, "B/s"),
        "busbw": (largest.busbw, "B/s"),
        "mean": (mean, "B/s"),
        "average": (table.average * 1e9 if table.average is not None else mean, "B/s"),
        "least": (min(row.time for row in test.rows), "s"),
    }
    if test.ranks:
        found["ranks"] = (test.ranks, "")
        found["said"] = (table.said or test.ranks, "")
        found["factor"] = (factor_of(test.collective, test.ranks), "")
    if test.pieces:
        found["alpha"] = (test.pieces[0].alpha, "s")
        found["bandwidth"] = (test.pieces[-1].bandwidth, "B/s")
        found["second"] = (test.pieces[min(1, len(test.pieces) - 1)].first, "B")
        found["last"] = (test.pieces[-1].first, "B")
    if beside := compared(test):
        found["wire"] = (beside.wire, "B/s")
        found["card"] = (beside.cluster.inter_bandwidth, "B/s")
    return found


def _of_log(one: PublishedMeasurement) -> Exhibit:
    report = one.report
    if not isinstance(report, TrainingLog):
        raise TypeError(f"{one.name} is no log")
    known = {
        "step": (report.step_time, "s"),
        "flops": (report.flops_per_gpu, "FLOP/s"),
        "mfu": (report.mfu, ""),
        "tokens": (report.tokens_per_second_per_gpu, ""),
    }
    lines = [line for line in text_of(one.name).splitlines() if not line.startswith("# ")]
    return Exhibit(
        address=one.address,
        hardware=one.hardware.partition(";")[0],
        text="\n".join(line.strip() for line in lines),
        quantities={name: (value, unit) for name, (value, unit) in known.items() if value},
    )


def _of_trace(sample: TraceSample) -> Exhibit:
    (report,) = read_trace([sample.path])
    tolls = report.tolls
    values = {
        "wall": tolls.wall,
        "compute": tolls.compute,
        "communication": tolls.communication,
        "exposed": tolls.exposed_communication,
        "hidden": tolls.overlapped_communication,
        "copies": tolls.exposed_copies,
        "idle": tolls.idle,
        "host": tolls.host,
        "waiting": tolls.waiting,
    }
    return Exhibit(
        address=sample.address,
        hardware=sample.title,
        text="\n".join(_breakdown(report)),
        quantities={name: (value, "s") for name, value in values.items()},
    )


def _breakdown(report: TraceReport) -> Iterator[str]:
    """The times of a trace, without the sums and differences that an exercise may ask for."""
    tolls = report.tolls
    yield f"{f'{report.steps} steps' if report.steps else 'no steps marked':<46}      time (ms)"
    for name, time in (
        ("first kernel to last", tolls.wall),
        ("GPU computes", tolls.compute),
        ("collectives run", tolls.communication),
        ("  of which while the GPU computes", tolls.overlapped_communication),
        ("copies run, and nothing else", tolls.exposed_copies),
        ("GPU idle", tolls.idle),
        ("  of which the next kernel is not launched yet", tolls.host),
    ):
        yield f"{name:<46}{time / _MILLI:>15,.3f}"
    if kinds := ", ".join(f"{one.count} {one.kind}" for one in report.collectives):
        yield f"collectives: {kinds}"


def main() -> None:
    """Write `exhibits.json`."""
    found = {
        name: {
            "address": one.address,
            "hardware": one.hardware,
            "quantities": one.quantities,
            "text": one.text.splitlines(),
        }
        for name, one in exhibits_read().items()
    }
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
