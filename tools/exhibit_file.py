"""What the readers say of the published measurements, written to `exhibits.json`."""

import json
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from app.core.measurements.exhibits import FILE, Exhibit, exhibits
from app.core.measurements.pieces import compare_test
from app.core.measurements.published import (
    SAMPLES,
    PublishedMeasurement,
    TraceSample,
    published_logs,
    published_tests,
    text_of,
)
from app.core.measurements.readers.nccl_tables import TableReader
from app.core.measurements.reports import CollectiveTest, TrainingLog
from app.core.measurements.table import CollectiveTable, factor_of
from app.core.measurements.trace.reader import read_trace
from app.core.measurements.trace.report import TraceReport
from app.core.units import scale_of, show_in

Quantities = dict[str, tuple[float, str]]
_DEVICES = 4  # lines of ranks that are shown; of more, the first and the last
_MILLI = 1e-3
_COLUMNS = "{:>11}{:>8}{:>8}{:>8}".format  # no wider than a phone
_RANK = re.compile(r"#\s+Rank\s+\d+ .*")
_MFU = re.compile(r"\s+mfu: [\d.]+%")  # an exercise asks for it
_PLAIN = "CSCS Alps, GH200, two nodes"
_SHORT = {"gh200-8-slingshot": _PLAIN, "gh200-8-sockets": _PLAIN}  # which tells no cause


def exhibits_read() -> Mapping[str, Exhibit]:
    """Every exhibit, as the readers read the samples now; those that were made for exercises as they are stored."""
    found = {name: _of_test(one) for name, one in published_tests().items()}
    found |= {name: _of_log(one) for name, one in published_logs().items()}
    found |= {sample.name: _of_trace(sample) for sample in SAMPLES}
    return found | {name: one for name, one in exhibits().items() if not one.address}


def _of_test(one: PublishedMeasurement) -> Exhibit:
    reader = TableReader()
    for line in text_of(one.name).splitlines():
        if not line.startswith("# ranks:"):  # which says what the bandwidths say
            reader.take(line)
    (table,) = reader.finish()
    report = one.report
    if not isinstance(report, CollectiveTest):
        raise TypeError(f"{one.name} is not a test")
    ranks = _RANK.findall(text_of(one.name))
    return Exhibit(
        address=one.address,
        hardware=_SHORT.get(one.name, one.hardware.partition(";")[0]),
        text="\n".join([*_shortened(ranks), *_printed(table)]),
        quantities=_quantities_of_test(report, table),
    )


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    """*lines*, without the space of their columns; of many the first and the last."""
    lines = [" ".join(line.split()) for line in lines]
    return lines if len(lines) <= _DEVICES else [lines[0], "# ...", lines[-1]]


def _printed(table: CollectiveTable) -> Iterator[str]:
    """Size, time and bandwidths out of place, as they were printed."""
    for line in (("size", "time", "algbw", "busbw"), ("(B)", "(us)", "(GB/s)", "(GB/s)")):
        yield f"#{_COLUMNS(*line)[1:]}"
    yield from (_COLUMNS(row.size, *row.out_of_place[:3]) for row in table.rows if row.size)
    if table.average is not None:
        yield f"# Avg bus bandwidth    : {table.average:g}"


def _quantities_of_test(test: CollectiveTest, table: CollectiveTable) -> Quantities:
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
    if beside := compare_test(test):
        found["wire"] = (beside.wire, "B/s")
        found["card"] = (beside.cluster.inter_bandwidth, "B/s")
    return found


def _of_log(one: PublishedMeasurement) -> Exhibit:
    report = one.report
    if not isinstance(report, TrainingLog):
        raise TypeError(f"{one.name} is not a log")
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
        text="\n".join(_MFU.sub("", line).strip() for line in lines),
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
    """The times of a trace as a Markdown table, without what an exercise may ask for."""
    tolls = report.tolls
    kinds = ", ".join(f"{one.count} {one.kind}" for one in report.collectives)
    steps = show_in(report.steps, scale_of("steps"))
    yield f"| {steps if report.steps else 'no steps are marked'} | ms |"
    yield "|---|---:|"
    rows = [
        ("from the first kernel to the last", tolls.wall),
        ("GPU computes", tolls.compute),
        (f"collectives run ({kinds})" if kinds else "collectives run", tolls.communication),
        ("… of that, while the GPU computes", tolls.overlapped_communication),
        ("copies run, and nothing else", tolls.exposed_copies),
        ("GPU idle", tolls.idle),
    ]
    if not tolls.unexplained:
        rows.append(("… of that, before the next kernel is launched", tolls.host))
    for name, time in rows:
        yield f"| {name.replace('_', '-')} | {time / _MILLI:,.3f} |"


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
