"""What nvidia-smi prints, told apart: rows about GPUs, sections about GPUs, and everything else.

Its warnings come on the same stream as its answers, before or after them.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

_UNKNOWN = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions|No permission)\]?|", re.IGNORECASE)
_NOT_A_FIELD = re.compile(r"Field \"(?P<field>[\w.]+)\" is not a valid field")
_HEADING = re.compile(r"GPU (?P<bus>[\dA-Fa-f]{4,8}:[\dA-Fa-f]{2}:[\dA-Fa-f]{2}\.\d)\s*$")
_VERSION = re.compile(r"(?<!\d)\d++(\.\d++)+")
_LABELED = re.compile(r"\A(?P<name>.*?\S)\s++:(?:\s++(?P<value>.*))?")


@dataclass(frozen=True, slots=True)
class GpuTable:
    """The columns of a query, each with a cell per GPU, and the *other* lines that were printed.

    Columns that the driver does not know are missing, and unknown cells are empty.
    """

    columns: Mapping[str, tuple[str, ...]]
    other: tuple[str, ...] = ()
    trouble: str = ""

    def column(self, name: str) -> tuple[str, ...]:
        """The cells of the column *name*; none if it is missing."""
        return self.columns.get(name, ())

    def rows(self) -> list[Mapping[str, str]]:
        """The cells of each GPU, by column."""
        return [dict(zip(self.columns, cells, strict=True)) for cells in zip(*self.columns.values(), strict=True)]


@dataclass(frozen=True, slots=True)
class GpuSections:
    """What `nvidia-smi -q` says about the GPU at *bus*, by section, subsection and name."""

    bus: str
    values: Mapping[tuple[str, ...], str]

    def said(self, *path: str) -> str:
        """The value at *path*; empty where it is missing or unknown."""
        return self.values.get(path, "")

    def below(self, *path: str) -> Mapping[str, str]:
        """The values in the section at *path*, by name."""
        return {key[-1]: value for key, value in self.values.items() if key[: len(path)] == path != key}


def known_text(text: str) -> str:
    """*text*, or nothing where the tool prints that it does not know."""
    return "" if _UNKNOWN.fullmatch(text.strip()) else text.strip()


def query_gpus(ask: Callable[[str], tuple[str, str]], fields: Sequence[str]) -> GpuTable:
    """The *fields* of all GPUs; those that this driver does not know are left out.

    *ask* takes the option with the fields, and returns what was printed, and the trouble with it.
    """
    asked = list(fields)
    while True:
        text, trouble = ask(f"--query-gpu={','.join(asked)}")
        unknown = _NOT_A_FIELD.search(f"{trouble}\n{text}")
        if unknown is None or unknown["field"] not in asked:
            break
        asked.remove(unknown["field"])
    return read_gpu_table(text, asked, trouble)


def read_gpu_table(text: str, fields: Sequence[str], trouble: str = "") -> GpuTable:
    """The rows in *text* that have all *fields*, as columns, and the other lines.

    With the driver's version among the fields, a row has one.
    """
    rows, other = [], []
    place = fields.index("driver_version") if "driver_version" in fields else None
    for line in filter(str.strip, text.splitlines()):
        cells = [known_text(cell) for cell in next(csv.reader([line]))]
        is_row = len(cells) == len(fields) and (place is None or _VERSION.fullmatch(cells[place]))
        if is_row:
            rows.append(cells)
        else:
            other.append(line.strip())
    columns = zip(*rows, strict=True) if rows else ()
    return GpuTable(dict(zip(fields, columns, strict=False)), tuple(other), trouble)


def numbered_rows(text: str, width: int) -> list[list[str]]:
    """The rows of *width* cells in *text* that begin with a number, as a process has."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines())]
    return [row for row in rows if len(row) == width and row[0].isdigit()]


def read_gpu_sections(text: str) -> list[GpuSections]:
    """What `nvidia-smi -q` printed as *text*, GPU by GPU."""
    found: list[GpuSections] = []
    for bus, lines in _output_parts(text.splitlines()):
        found.append(GpuSections(bus, dict(_values(lines))))
    return found


def _output_parts(lines: Iterable[str]) -> Iterable[tuple[str, list[str]]]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if heading := _HEADING.match(line):
            found.append((heading["bus"], []))
        elif found and line.startswith(" "):
            found[-1][1].append(line.rstrip())
    return found


def _values(lines: Iterable[str]) -> Iterable[tuple[tuple[str, ...], str]]:
    """Names with the sections above them, which are indented less, and their values."""
    above: list[tuple[int, str]] = []
    for line in filter(str.strip, lines):
        indent = len(line) - len(line.lstrip())
        above = [(depth, name) for depth, name in above if depth < indent]
        if labeled := _LABELED.fullmatch(line.strip()):
            path = (*(name for _, name in above), labeled["name"])
            yield path, known_text(labeled["value"] or "")
        else:
            above.append((indent, line.strip()))
