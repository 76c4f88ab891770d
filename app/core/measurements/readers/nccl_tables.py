"""Readers of lines: tables of nccl-tests and rccl-tests, and training logs of every family."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from app.core.measurements import table
from app.core.measurements.logs.families import family_titles
from app.core.measurements.logs.reader import LogReader
from app.core.measurements.logs.summary import training_logs
from app.core.measurements.plausibility import judge_tests
from app.core.measurements.reports import CollectiveTest, TextReport, TrainingLog


class TextReader(ABC):
    """Takes the lines of a text one by one, and reports what was in them.

    *reads* is what it reads, as in a list, and *looks* how that looks, for a text that has nothing
    of it; a second format of a tool has neither. *sample* is text from which it makes a report.
    """

    reads: ClassVar[str] = ""
    looks: ClassVar[str] = ""
    sample: ClassVar[str]
    takes_the_rest: ClassVar[bool] = False  # lines that no other reader takes

    @property
    def refusal(self) -> str:
        """The name of a tool whose text was seen and is not read."""
        return ""

    @abstractmethod
    def take(self, line: str) -> bool:
        """Read *line*; whether it was one of its tool."""

    @abstractmethod
    def reports(self, trouble: str = "") -> Iterable[TextReport]:
        """What was in the lines; *trouble*: why there were no further ones."""


class CollectiveReader(TextReader):
    """A reader of tests of collectives, which are judged in the same way."""

    @abstractmethod
    def finish(self) -> Iterable[table.CollectiveTable]:
        """The tests in the lines, as they were printed."""

    def reports(self, trouble: str = "") -> Iterable[CollectiveTest]:
        """The tests, and the doubts about them."""
        for printed in self.finish():
            printed.doubts += [trouble] * bool(trouble)
            yield from judge_tests(printed)


_COLOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# "[1,0]<stdout>:" of mpirun, "[prterun-node1-7@1,0]<stdout>:" of its newer versions, "[0]" of
# Intel MPI; also inside of a line, as nccl-tests prints a row in parts.
_TAG = re.compile(r"\[(?:[\w.-]+@)?\d+(?:,\d+)*\](?:<std(?:out|err)>:?)?")
_TYPES = r"float(?:8|16|32|64)?\w*|double|half|b?float16|bf16|fp8\w*|f8\w*|u?int(?:8|32|64)?|char"
_ROW = re.compile(rf"(?<![\w.])(\d{{1,18}})\s+(\d{{1,18}})\s+({_TYPES})(?=\s|$)(.*)$", re.ASCII)
_HEADER = re.compile(r"\b(?:size\s+count|bytes\s+N)\s+type\b")
_UNITS = re.compile(r"\(elements\).*\((ms|us)\)")
_RANK = re.compile(
    r"\b(?:Rank\s+(?P<rank>\d{1,7})\s+(?:Group\s+\d+\s+)?(?:Pid\s+\d+\s+)?(?:uses|on\s+(?P<host>\S+))"
    r"\s+device\s+\d+|Device\s+(?P<device>\d{1,7})\s+->\s+\d+)\s*(?:\[[^\]]*\])?\s*(?P<gpu>.*)$"
)
_PROGRAM = re.compile(r"\b(\w+?)_(?:perf|test)(?:_mpi)?(?:\.exe)?\b")
_CALL = re.compile(r"\bstarting\b|\s-[befgn]\s*\d")  # it is run here, and not only named
# How many ranks a call asks for: processes, and GPUs and threads of each.
_PROCESSES = re.compile(r"\b(?:mpirun|mpiexec|orterun|srun)\b.{0,400}?\s(?:-np|-n|--ntasks)[ =]+(\d{1,6})\b")
_TASKS = re.compile(
    r"\bsrun\b(?=.{0,400}\s(?:-N|--nodes)[ =]?(\d{1,6})\b)"
    r".{0,400}\s--ntasks-per-node[ =](\d{1,3})\b"
)
_EACH = re.compile(r"\s-[gt]\s*(\d{1,3})\b")
_SAID = re.compile(r"^\s*#\s*(collective|ranks|nodes|hardware):\s*(.*\S)\s*$")
_OPTIONS = re.compile(r"\bnThread\s+\d+\s+nGpus\s+\d+")
_COMMUNICATOR = re.compile(r"\bnranks\s+(\d{1,7})\b", re.IGNORECASE)
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S+)")
_FAILED = re.compile(r"\bTest (?:NCCL |CUDA )?(?:failure|timeout)\b")
_WRONG = re.compile(r"Out of bounds values\s*:\s*(\d{1,18})")
# Words without which a line is of no use.
_WORDS = (
    "float", "half", "double", "int8", "int32", "int64", "int ", "char", "bf16", "f8", "fp8", "ank",
    "evice", "_perf", "_test", "#", "size", "bytes", "elements", "bandwidth", "bounds", "Test",
)  # fmt: skip
_OF_ROWS = ("float", "half", "double", "int", "char", "bf16", "f8", "fp8")
_MOST_WORDS = 64  # of a row
_VALUES = 4  # time, algorithm bandwidth, bus bandwidth, wrong values
_MOST_GPUS = 8  # different names that are kept


@dataclass
class TableReader(CollectiveReader):
    """Takes the lines of a text one by one; `tables` are the tests in it."""

    reads: ClassVar = "output of nccl-tests or rccl-tests"
    looks: ClassVar = "table of nccl-tests (a row is size, count, type, ..., time, algbw, busbw)"
    sample: ClassVar = """\
#       size         count      type   redop    root     time   algbw   busbw #wrong
     8388608       2097152     float     sum      -1    301.7   27.80   48.65      0
"""
    tables: list[table.CollectiveTable] = field(default_factory=list)
    _now: table.CollectiveTable = field(default_factory=table.CollectiveTable)
    _titles: list[str] = field(default_factory=list)
    _title: table.TableTitle | None = None
    _wrapped: bool = False  # the title may go on
    _before: int | None = None  # words between the type and the times, in the row above
    _begun: tuple[re.Match[str], list[str]] | None = None  # a row whose values are to come

    def take(self, line: str) -> bool:
        """Read *line*; whether it was one of nccl-tests."""
        if not (self._begun or self._wrapped or any(word in line for word in _WORDS)):
            return False
        line = _TAG.sub(" ", _COLOR.sub("", line)).replace("|", " ")
        if any(word in line for word in _OF_ROWS) and (row := _ROW.search(line)):
            self._drop_begun()
            self._take_row(row, row[4].replace(",", ".").split())  # a spreadsheet wrote commas
            return True
        if self._begun and self._goes_on(line):
            return True
        self._drop_begun()
        return self._take_header(line) or self._take_rank(line) or self._take_other(line)

    def finish(self) -> list[table.CollectiveTable]:
        """The tables that have rows."""
        self._drop_begun()
        self._next()
        table.doubt_mixed_tables(self.tables)
        return self.tables

    def _next(self) -> None:
        if self._now.rows:
            self.tables.append(self._now)
            self._now = table.CollectiveTable()
            self._title = self._before = None

    def _take_row(self, start: re.Match[str], rest: list[str]) -> None:
        """Keep a row; one whose values are missing goes on in the next line."""
        self._wrapped = False
        row = self._row_of(start, rest)
        self._begun = None if row else (start, rest)
        if row:
            self._now.add(row)
            self._now.prefixed.add(bool(start.string[: start.start()].strip()))

    def _row_of(self, start: re.Match[str], rest: list[str]) -> table.RawRow | None:
        if self._title is None:
            count = _columns_of(rest)  # then values come in fours: the time, both bandwidths, wrong values
            values = tuple(rest[count : count + 2 * _VALUES])
            if len(values) < _VALUES - 1 or not all(map(table.VALUE.match, values[: _VALUES - 1])):
                return None
            return table.raw_row(start, rest[:count], (values[:_VALUES], values[_VALUES:]))
        row = self._title.row(start, rest, self._before)
        if row is not None:
            self._before = (row.redop != "") + (row.root is not None)
        return row

    def _drop_begun(self) -> None:
        """Give up a row whose values never came; with the title that says how many there are."""
        if self._begun and self._title and len(self._begun[1]) > 1:
            self._now.misfits += 1
        self._begun = None

    def _goes_on(self, line: str) -> bool:
        """Whether *line* has nothing but values of the row that a launcher broke in parts."""
        words = line.split()
        if not words or self._begun is None or not all(map(table.VALUE.match, words)):
            return False
        start, before = self._begun
        self._take_row(start, [*before, *words][:_MOST_WORDS])
        return True

    def _take_header(self, line: str) -> bool:
        if "type" in line and (header := _HEADER.search(line)):
            self._next()
            self._take_titles(line[header.end() :].split())
            return True
        if self._wrapped and table.is_title(words := line.replace("# ", " ").split()):
            self._take_titles([*self._titles, *words])
            return True
        self._wrapped = False
        if units := _UNITS.search(line):
            self._now.in_milliseconds = units[1] == "ms"
            return True
        return False

    def _take_titles(self, words: list[str]) -> None:
        self._titles, self._wrapped = words, True
        self._title = title = table.TableTitle.read(words)
        self._now.titled = True
        self._now.columns = title.before if title else None
        self._now.unknown = title.unknown if title else ()
        self._now.without_bandwidths = bool(title and not title.has_bandwidths)
        self._now.cpu_time = title.cpu_time if title else False

    def _take_rank(self, line: str) -> bool:
        if not ("ank" in line or "evice" in line) or not (found := _RANK.search(line)):
            return False
        self._next()
        now, gpu = self._now, found["gpu"].strip()
        rank = int(found["rank"] or found["device"])
        now.said = max(now.said or 0, rank + 1)
        now.listed.add(rank)
        if found["host"]:
            now.hosts.add(found["host"])
        if gpu and gpu not in now.gpus and len(now.gpus) < _MOST_GPUS:
            now.gpus.append(gpu)
        return True

    def _take_other(self, line: str) -> bool:
        if said := _SAID.match(line):
            self._next()
            self._take_said(said[1], said[2])
            return True
        if average := _AVERAGE.search(line):
            self._now.average, self._now.ended = table.number(average[1]), True
            return True
        if _FAILED.search(line):
            self._now.failed = True
            return True
        if wrong := _WRONG.search(line):
            self._now.wrong, self._now.ended = int(wrong[1]), True
            return True
        return self._take_start(line)

    def _take_start(self, line: str) -> bool:
        """What is printed before a test: its program, its options, the size of a communicator."""
        if _OPTIONS.search(line):
            self._next()
            return True
        if (
            ("_perf" in line or "_test" in line)
            and (program := _PROGRAM.search(line))
            and (name := table.collective_named(program[1]))
        ):
            if "concluded" not in line:
                self._next()
                called = _CALL.search(line)
                self._now.collective = name if called else self._now.collective or name
                self._now.called = _called(line) or self._now.called
            return True
        if not self._now.said and (ranks := _COMMUNICATOR.search(line)):
            self._now.said = int(ranks[1])
        return False

    def _take_said(self, what: str, says: str) -> None:
        now = self._now
        if what == "collective":
            now.collective = table.collective_named(says) or now.collective
        elif what == "hardware":
            now.hardware = says[:200]
        elif table.WHOLE.match(says):
            now.said, now.nodes = (int(says[:7]), now.nodes) if what == "ranks" else (now.said, int(says[:7]))


def _called(line: str) -> int | None:
    """The ranks that a call of a test asks for; None if it does not tell."""
    ranks = math.prod(int(each) for each in _EACH.findall(line)[:2])
    if processes := _PROCESSES.search(line):
        return ranks * int(processes[1])
    if tasks := _TASKS.search(line):
        return ranks * int(tasks[1]) * int(tasks[2])
    return ranks if ranks > 1 else None


def _columns_of(rest: Sequence[str]) -> int:
    """How many words precede the values: a reduction, a root, both, or none of them."""
    last = len(rest)
    while last and not table.VALUE.match(rest[last - 1]):
        last -= 1  # the time of day, at the end
    count = 0
    while count < min(last, 2) and not table.VALUE.match(rest[count]):
        count += 1
    return count + ((last - count) % _VALUES == 1 and bool(table.WHOLE.match(rest[count])))


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
    _tables: dict[tuple[str, ...], table.CollectiveTable] = field(default_factory=dict)
    _rows: dict[tuple[str, ...], dict[int, list[_Places]]] = field(default_factory=dict)

    def take(self, line: str) -> bool:
        """Read *line* if it is one of a CSV file; whether it was."""
        if "," not in line or not (found := _CSV.match(line)) or not table.collective_named(found["name"]):
            return False
        world = [int(text) for text in found["world"].split(",")]
        ranks = world[1] * world[3] if len(world) == _MPI else world[0]
        self.take_record({**found.groupdict(), "gpus": ranks})
        return True

    def take_record(self, record: Mapping[str, object]) -> None:
        """Keep *record*, whose keys are those of rccl-tests."""
        size, ranks, each = (_whole_or_none(record.get(name)) for name in ("size", "ranks", "gpusPerRank"))
        ranks = ranks * (each or 1) if ranks else _whole_or_none(record.get("gpus"))
        if size is None:
            return
        key = tuple(str(record.get(name, "")) for name in ("name", "type", "redop")) + (str(ranks),)
        if key not in self._tables:
            self._tables[key] = table.CollectiveTable(collective=table.collective_named(key[0]), said=ranks)
            self._rows[key] = {}
        place = str(record.get("inPlace", 0)) in {"1", "True"}
        cycles = self._rows[key].setdefault(size, [{}])
        if place in cycles[-1]:  # the size comes again, in another cycle
            cycles.append({})
        cycles[-1][place] = record

    def finish(self) -> Iterable[table.CollectiveTable]:
        """The tables."""
        for key, printed in self._tables.items():
            for size, cycles in self._rows[key].items():
                for places in cycles:
                    out, inside = _values(places.get(False)), _values(places.get(True))
                    printed.add(table.RawRow(size, 0, key[1], key[2], None, out, inside))
        return self._tables.values()


def _values(record: Mapping[str, object] | None) -> tuple[str, ...]:
    if record is None:
        return ()
    return tuple(str(record.get(name, "")) for name in ("time", "algBw", "busBw", "wrong"))


def _whole_or_none(value: object) -> int | None:
    """A number of bytes or ranks; None for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None  # noqa: PLR2004 (digits)


class TrainingLogReader(TextReader):
    """Takes every line that nobody else does: it may be a setting."""

    reads: ClassVar = "a training log"
    looks: ClassVar = f"step of a training log of {', '.join(family_titles())}"
    sample: ClassVar = """\
[2026-01-02 10:00:00] iteration 1/ 100 | elapsed time per iteration (ms): 1500.0 |
[2026-01-02 10:00:02] iteration 2/ 100 | elapsed time per iteration (ms): 1400.0 |
"""
    takes_the_rest: ClassVar = True

    def __init__(self) -> None:
        self._log = LogReader()

    def take(self, line: str) -> bool:
        """Read *line*; whether it was that of a step."""
        return self._log.take(line)

    def reports(self, trouble: str = "") -> Iterable[TrainingLog]:
        """The log, if it has steps."""
        return training_logs(self._log, trouble)

    @property
    def refusal(self) -> str:
        """The name of a family of logs that is known and not read."""
        return self._log.foreign
