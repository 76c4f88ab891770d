"""What nccl-tests (-J) and rccl-tests (-x with -Z json) write as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from app.core.errors import InputError
from app.core.measurements.json_kinds import json_kind, shown_keys
from app.core.measurements.json_logs import logs_in
from app.core.measurements.json_prefix import JsonPrefix, read_json
from app.core.measurements.packed_files import open_unpacked
from app.core.measurements.plausibility import judge_tests
from app.core.measurements.readers.rccl_records import RecordReader
from app.core.measurements.reports import CollectiveTest, TrainingLog
from app.core.measurements.table import CollectiveTable, RawRow, collective_named

_LIMIT = 16 << 20  # bytes of a file; nccl-tests writes a few kB
_MOST_RANKS = 1 << 20
_MOST_GPUS = 8


def from_json(path: Path) -> list[CollectiveTest | TrainingLog]:
    """The tests or logs in *path*; of a file that is cut off, what is there.

    Raises:
        InputError: it is not JSON, or has no results.
    """
    read = _read(path)
    trouble = f"not JSON from line {read.ends_at} on: what precedes is read" if read.ends_at else ""
    values = [one for value in read.values for one in _listed(value) if isinstance(one, dict)]
    found: list[CollectiveTest | TrainingLog] = [*_tests(values, trouble)]
    found += logs_in(values, trouble)
    if found:
        return found
    if read.ends_at:
        raise InputError(f"{path.name}, line {read.ends_at}: not valid JSON")
    raise InputError(f"{path.name} is {_what(values)}")


def _tests(values: Sequence[Mapping[str, object]], trouble: str) -> Iterator[CollectiveTest]:
    records, tables = RecordReader(), []
    for found in values:
        if isinstance(found.get("results"), list):
            tables.append(_table(found))
        elif "size" in found and ("busBw" in found or "algBw" in found):
            records.take_record(found)
    for table in (*tables, *records.finish()):
        if table.rows:
            table.doubts += [trouble] * bool(trouble)
            yield from judge_tests(table)


def _what(values: Sequence[Mapping[str, object]]) -> str:
    """What the file is, and what is expected."""
    first = values[0] if values else None
    if what := json_kind(first):
        return what
    keys = f", but with {shown}" if (shown := shown_keys(first)) else ""
    return (
        f"JSON without results of nccl-tests{keys}: expected 'results' with 'size' and"
        " 'out_of_place', or lines with 'size' and 'busBw'"
    )


def _read(path: Path) -> JsonPrefix:
    with open_unpacked(path, _LIMIT) as stream:
        pieces = []
        while piece := stream.read():
            pieces.append(piece)
    try:
        return read_json(b"".join(pieces).decode("utf-8-sig", "replace"))
    except RecursionError as error:
        raise InputError(f"{path.name} is nested too deeply to be a result") from error
    except ValueError as error:  # a number of more than 4,300 digits
        raise InputError(f"{path.name} has a number that is too long") from error


def _listed(found: object) -> list[object]:
    return found if isinstance(found, list) else [found]


def _table(found: Mapping[str, object]) -> CollectiveTable:
    """The table of a file of nccl-tests."""
    config = _object(found.get("config"))
    table = CollectiveTable(collective=_collective_of(found, config))
    _take_devices(table, found.get("devices") or config.get("devices"), config)
    results = found.get("results")
    for one in results if isinstance(results, list) else ():
        if isinstance(one, dict) and (row := _json_output_row(one)):
            table.add(row)
            table.cpu_time |= any(
                "cpu_time" in place and "time" not in place
                for place in (_object(one.get("out_of_place")), _object(one.get("in_place")))
            )
    table.wrong = _whole(_object(found.get("out_of_bounds")).get("count"))
    average = _object(found.get("average_bus_bandwidth")).get("bandwidth")
    table.average = average if isinstance(average, float) else None
    return table


def _collective_of(found: Mapping[str, object], config: Mapping[str, object]) -> str | None:
    arguments = found.get("args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else [str(arguments)]
    for word in words:
        for program in word.split():
            name = program.rsplit("/", 1)[-1]
            if "_perf" in name and (collective := collective_named(name.partition("_perf")[0])):
                return collective
    results = found.get("results")
    first = _object(results[0]) if isinstance(results, list) and results else {}
    said = config.get("collective") or found.get("collective") or first.get("experiment_name")
    return collective_named(str(said)) if said else None


def _take_devices(table: CollectiveTable, devices: object, config: Mapping[str, object]) -> None:
    """Keep how many took part. Some versions list the first GPU of each process alone."""
    listed = [one for one in _listed(devices) if isinstance(one, dict)]
    if not listed:
        return
    highest = max(_whole(one.get("rank")) for one in listed) + 1
    each = (_whole(config.get("nthreads")) or 1) * (_whole(config.get("ngpus")) or 1)
    table.said = highest if len(listed) == highest and highest > 1 else len(listed) * each
    table.hosts = {str(one.get("hostname")) for one in listed if one.get("hostname")}
    table.listed = set(range(min(table.said, _MOST_RANKS)))
    gpus = dict.fromkeys(str(one["device_info"])[:80] for one in listed if one.get("device_info"))
    table.gpus = list(gpus)[:_MOST_GPUS]


def _json_output_row(one: Mapping[str, object]) -> RawRow | None:
    size, places = _whole(one.get("size")), (one.get("out_of_place"), one.get("in_place"))
    if not size or not any(map(_place, places)):  # cut off
        return None
    root = str(one.get("root", "")).strip()
    return RawRow(
        size=size,
        count=_whole(one.get("count")),
        type=str(one.get("type", "")),
        redop=str(one.get("redop") or ""),
        root=int(root) if root.removeprefix("-").isdigit() and len(root) < 8 else None,  # noqa: PLR2004 (digits)
        out_of_place=_place(one.get("out_of_place")),
        in_place=_place(one.get("in_place")),
    )


def _place(value: object) -> tuple[str, ...]:
    place = _object(value)
    if not place:
        return ()
    time = place.get("time", place.get("cpu_time", ""))
    return tuple(str(v) for v in (time, place.get("alg_bw"), place.get("bus_bw"), place.get("nwrong")))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    """A count in a file; 0 where it has none."""
    return value if isinstance(value, int) and 0 <= value < 1 << 60 else 0
