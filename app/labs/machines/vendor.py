"""What the vendor's tool says about the GPUs: nvidia-smi.

It knows what torch does not: the driver, limits, modes and links. A tool that is absent, slow or
fails costs that knowledge alone.
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xml.etree import ElementTree


_ASIDE = "/usr/lib/wsl/lib"  # where it is if not on the PATH
# Where nvidia-smi -q -x has what we list of a GPU; in older drivers, some of it is at a later place.
_LINK = "pci/pci_gpu_link_info"
_PLACES: Mapping[str, tuple[str, ...]] = {
    "uuid": ("uuid",),
    "name": ("product_name",),
    "persistence": ("persistence_mode",),
    "mig": ("mig_mode/current_mig",),
    "ecc": ("ecc_mode/current_ecc",),
    "compute_mode": ("compute_mode",),
    "power": ("gpu_power_readings/current_power_limit", "gpu_power_readings/power_limit", "power_readings/power_limit"),
    "clock": ("max_clocks/sm_clock",),
    "memory_clock": ("max_clocks/mem_clock",),
    "pcie_generation": (f"{_LINK}/pcie_gen/max_link_gen",),
    "pcie_lanes": (f"{_LINK}/link_widths/current_link_width",),
}
_UNIT = re.compile(r"(?<=\d)(x| W| MHz)$")
_GPU = re.compile(r"GPU \d+: .+\(UUID: (?P<uuid>[^)]+)\)")
_INSTANCE = re.compile(r"\s+MIG (?P<profile>\S+)\s+Device\s+\d+:\s+\(UUID: (?P<uuid>[^)]+)\)")
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_LAST = 1.0  # seconds for a process to die
_MIB = 2**20


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGpu:
    """A GPU as its vendor's tool lists it; empty where it does not say.

    *power* is its limit, in watts, *clock* and *memory_clock* the highest, in MHz. *instances* are
    the profiles of its MIG instances, by UUID.
    """

    name: str
    uuid: str = ""
    driver: str = ""
    persistence: str = ""
    mig: str = ""
    ecc: str = ""
    compute_mode: str = ""
    power: str = ""
    clock: str = ""
    memory_clock: str = ""
    pcie_generation: str = ""
    pcie_lanes: str = ""
    instances: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuListing:
    """All GPUs of the machine, their links, and the *trouble* of the *tool* that lists them."""

    tool: str = ""
    gpus: tuple[ListedGpu, ...] = ()
    topology: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed, or why it could not, with what it had *printed* until it failed."""

    text: str
    trouble: str = ""
    printed: str = ""


def tool() -> str:
    """The path of nvidia-smi; empty if it is not there."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), _ASIDE))
    return shutil.which("nvidia-smi", path=path) or ""


def list_gpus(seconds: float) -> GpuListing:
    """The GPUs of this machine, as far as the tool says so within *seconds*."""
    path = tool()
    if not path:
        return GpuListing()
    questions = ((path, "-q", "-x"), (path, "-L"), (path, "topo", "-m"))
    with ThreadPoolExecutor(len(questions)) as pool:
        said, listed, topology = pool.map(partial(run_vendor_tool, seconds=seconds), questions)
    log, instances = read_smi_log(said.text), dict(_instances(listed.text))
    every = [
        {name: _UNIT.sub("", next(filter(None, map(one.said, places)), "")) for name, places in _PLACES.items()}
        for one in log.gpus
    ]
    plain = _STYLE.sub("", topology.text).partition("\nLegend")[0]
    return GpuListing(
        tool="nvidia-smi",
        gpus=tuple(
            ListedGpu(**known, driver=log.driver, instances=instances.get(known["uuid"], {})) for known in every
        ),
        topology="\n".join(line.rstrip() for line in plain.splitlines() if line.strip()),
        trouble=said.trouble,
    )


def memory_in_use(seconds: float) -> Sequence[float]:
    """Bytes of GPU memory that each process on the GPUs uses; empty if the tool cannot tell."""
    path = tool()
    if not path:
        return []
    query = ("--query-compute-apps=used_memory", "--format=csv,noheader,nounits")
    said = map(str.strip, run_vendor_tool((path, *query), seconds).text.splitlines())
    known = (text for text in said if text.isdigit() or (text and not known_text(text)))
    return [float(text if text.isdigit() else 0) * _MIB for text in known]


def run_vendor_tool(command: Sequence[str], seconds: float) -> Output:
    """What *command* prints within *seconds*; it and its children are killed after that."""
    name = os.path.basename(command[0])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Output("", f"{name} cannot be run: {error.strerror}")
    try:
        text, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a driver that hangs cannot be killed
            process.communicate(timeout=_LAST)
        return Output("", f"{name} did not answer within {seconds:g} s")
    if process.returncode:
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")[:200]
        return Output("", f"{name} failed: {first or process.returncode}", text)
    return Output(text)


def _instances(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The MIG instances of each GPU, from `nvidia-smi -L`: the profile by UUID."""
    uuid, found = "", dict[str, str]()
    for line in text.splitlines():
        if gpu := _GPU.match(line):
            uuid, found = gpu["uuid"], {}
            yield uuid, found
        elif instance := _INSTANCE.match(line):
            found[instance["uuid"]] = instance["profile"]
