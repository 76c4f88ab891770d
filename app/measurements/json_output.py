"""What nccl-tests (-J) and rccl-tests (-x with -Z json) write as JSON."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.errors import InputError
from app.measurements.packed_files import open_unpacked
from app.measurements.plausibility import judge_table
from app.measurements.readers.rccl_records import RecordReader
from app.measurements.reports import CollectiveTest
from app.measurements.table import CollectiveTable, RawRow, collective_named

_LIMIT = 16 << 20  # bytes of a file; nccl-tests writes a few kB
_SPACE = " \t\r\n,"
_MOST_RANKS = 1 << 20
_MOST_GPUS = 8


def from_json(path: Path) -> list[CollectiveTest]:
    """The tests in *path*.

    Raises:
        InputError: it is not JSON, or has no results.
    """
    records, tables = RecordReader(), []
    for found in _values(path):
        if "results" in found:
            tables.append(_table(found))
        elif "size" in found and ("busBw" in found or "algBw" in found):
            records.take_record(found)
    tests = [judge_table(table) for table in (*tables, *records.finish()) if table.rows]
    if not tests:
        raise InputError(
            f"{path.name} is JSON without results of nccl-tests: expected 'results' with 'size'"
            " and 'out_of_place', or lines with 'size' and 'busBw'"
        )
    return tests


def _values(path: Path) -> Iterator[Mapping[str, object]]:
    """The objects in *path*: one, a list, or one after the other."""
    with open_unpacked(path, _LIMIT) as stream:
        pieces = []
        while piece := stream.read():
            pieces.append(piece)
    text = b"".join(pieces).decode("utf-8-sig", "replace")
    decoder, at = json.JSONDecoder(), 0
    while (at := _after_space(text, at)) < len(text):
        try:
            found, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise InputError(f"{path.name}, line {error.lineno}: not valid JSON") from error
        except RecursionError as error:
            raise InputError(f"{path.name} is nested too deeply to be a result") from error
        except ValueError as error:  # a number of more than 4,300 digits
            raise InputError(f"{path.name} has a number that is too long") from error
        yield from (one for one in _listed(found) if isinstance(one, dict))


def _after_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


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
    size = _whole(one.get("size"))
    if not size:
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
    return tuple(
        str(v) for v in (time, place.get("alg_bw"), place.get("bus_bw"), place.get("nwrong"))
    )


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    """A count in a file; 0 where it has none."""
    return value if isinstance(value, int) and 0 <= value < 1 << 60 else 0
