"""What nvidia-smi prints, told apart: rows about GPUs, its whole log as XML, and everything else.

Its warnings come on the same stream as its answers, before or after them.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree import ElementTree

_UNKNOWN = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions|No permission)\]?|", re.IGNORECASE)
_NOT_A_FIELD = re.compile(r"Field \"(?P<field>[\w.]+)\" is not a valid field")
_VERSION = re.compile(r"(?<!\d)\d++(\.\d++)+")
_LOG = re.compile(r"<nvidia_smi_log>.*</nvidia_smi_log>", re.DOTALL)


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
class GpuLog:
    """What `nvidia-smi -q -x` says about the GPU at *bus*: values by path, and the processes on it."""

    bus: str
    values: Mapping[str, str]
    processes: tuple[str, ...] = ()

    def said(self, path: str) -> str:
        """The value at *path*; empty where it is missing or unknown."""
        return known_text(self.values.get(path, ""))


@dataclass(frozen=True, slots=True)
class SmiLog:
    """All GPUs, and the *other* lines that were printed."""

    gpus: tuple[GpuLog, ...] = ()
    other: tuple[str, ...] = ()


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


def read_smi_log(text: str) -> SmiLog:
    """What `nvidia-smi -q -x` printed as *text*, GPU by GPU."""
    found = _LOG.search(text)
    beside = text.replace(found.group(), "") if found else text
    other = tuple(line.strip() for line in beside.splitlines() if line.strip() and not line.lstrip().startswith("<"))
    from xml.etree import ElementTree  # not in a browser

    try:
        root = ElementTree.fromstring(found.group()) if found else None
    except ElementTree.ParseError:
        return SmiLog(other=(*other, "the answer of nvidia-smi -q -x cannot be read"))
    return SmiLog(tuple(map(_gpu_log, root.iter("gpu"))) if root is not None else (), other)


def _gpu_log(gpu: "ElementTree.Element") -> GpuLog:
    parts = [one for one in gpu if one.tag != "processes"]
    processes = [
        ", ".join((one.findtext(name) or "").strip() for name in ("pid", "process_name", "used_memory"))
        for one in gpu.iter("process_info")
    ]
    return GpuLog(gpu.get("id", ""), dict(path for one in parts for path in _leaves(one, "")), tuple(processes))


def _leaves(element: "ElementTree.Element", above: str) -> Iterator[tuple[str, str]]:
    path = f"{above}{element.tag}"
    if not len(element):
        yield path, (element.text or "").strip()
    for one in element:
        yield from _leaves(one, f"{path}/")
