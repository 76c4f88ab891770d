"""Results of rccl-tests as it writes them to a file: a record for each size, CSV or JSON lines."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from app.core.measurements.readers.base import CollectiveReader
from app.core.measurements.table import CollectiveTable, RawRow, collective_named

# nodes, ranks, ranks per node, GPUs per rank; without MPI the GPUs alone. The title has one less.
_CSV = re.compile(
    r"^\s*(?P<name>\w+)\s*,\s*(?P<world>\d{1,7}(?:\s*,\s*\d{1,7}){0,3})\s*,\s*(?P<size>\d{1,18})\s*,"
    r"\s*(?P<type>[a-z]\w*)\s*,\s*(?P<redop>\w+)\s*,\s*(?P<inPlace>[01])\s*,\s*(?P<time>\S+?)\s*,"
    r"\s*(?P<algBw>\S+?)\s*,\s*(?P<busBw>\S+?)\s*,\s*(?P<wrong>\S+?)\s*$"
)
_MPI = 4  # numbers that say how many took part


_Places = dict[bool, Mapping[str, object]]  # a record for out of place, and one for in place


@dataclass
class RecordReader(CollectiveReader):
    """Takes records one by one; there is a table for each collective, type and world."""

    sample: ClassVar = "AllReduce, 8, 8388608, float, sum, 0, 301.7, 27.80, 48.65, 0"
    _tables: dict[tuple[str, ...], CollectiveTable] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], dict[int, list[_Places]]] = field(default_factory=dict)

    def take(self, line: str) -> bool:
        """Read *line* if it is one of a CSV file; whether it was."""
        if "," not in line or not (found := _CSV.match(line)) or not collective_named(found["name"]):
            return False
        world = [int(text) for text in found["world"].split(",")]
        ranks = world[1] * world[3] if len(world) == _MPI else world[0]
        self.take_record({**found.groupdict(), "gpus": ranks})
        return True

    def take_record(self, record: Mapping[str, object]) -> None:
        """Keep *record*, whose keys are those of rccl-tests."""
        ranks = _ranks_of(record)
        size = _whole(record.get("size"))
        if size is None:
            return
        key = tuple(str(record.get(name, "")) for name in ("name", "type", "redop")) + (str(ranks),)
        if key not in self._tables:
            self._tables[key] = CollectiveTable(collective=collective_named(key[0]), said=ranks)
            self._rows[key] = {}
        place = str(record.get("inPlace", 0)) in {"1", "True"}
        cycles = self._rows[key].setdefault(size, [{}])
        if place in cycles[-1]:  # the size comes again, in another cycle
            cycles.append({})
        cycles[-1][place] = record

    def finish(self) -> Iterable[CollectiveTable]:
        """The tables."""
        for key, table in self._tables.items():
            for size, cycles in self._rows[key].items():
                for places in cycles:
                    out, inside = _values(places.get(False)), _values(places.get(True))
                    table.add(RawRow(size, 0, key[1], key[2], None, out, inside))
        return self._tables.values()


def _values(record: Mapping[str, object] | None) -> tuple[str, ...]:
    if record is None:
        return ()
    return tuple(str(record.get(name, "")) for name in ("time", "algBw", "busBw", "wrong"))


def _ranks_of(record: Mapping[str, object]) -> int | None:
    ranks, gpus = _whole(record.get("ranks")), _whole(record.get("gpusPerRank"))
    return ranks * (gpus or 1) if ranks else _whole(record.get("gpus"))


def _whole(value: object) -> int | None:
    """A number of bytes or ranks; None for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None  # noqa: PLR2004 (digits)
