"""What nvidia-smi prints, told apart: its whole log as XML, and everything else.

Its warnings come on the same stream as its answers, before or after them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree import ElementTree

_UNKNOWN = re.compile(r"\[?(N/A|Not Supported|Unknown Error|Insufficient Permissions|No permission)\]?|", re.IGNORECASE)
_LOG = re.compile(r"<nvidia_smi_log>.*</nvidia_smi_log>", re.DOTALL)


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
    """All GPUs, their *driver*, and the *other* lines that were printed."""

    gpus: tuple[GpuLog, ...] = ()
    other: tuple[str, ...] = ()
    driver: str = ""


def known_text(text: str) -> str:
    """*text*, or nothing where the tool prints that it does not know."""
    return "" if _UNKNOWN.fullmatch(text.strip()) else text.strip()


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
    if root is None:
        return SmiLog(other=other)
    return SmiLog(tuple(map(_gpu_log, root.iter("gpu"))), other, known_text(root.findtext("driver_version") or ""))


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
