"""What the vendor's tool says about the GPUs: nvidia-smi, or amd-smi and rocm-smi.

It knows what torch does not: the driver, limits, modes and links. A tool that is absent, slow or
fails costs that knowledge alone.
"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from app.labs.machines.nvidia_output import known_text

_ASIDE = ("/usr/lib/wsl/lib", "/opt/rocm/bin")  # where tools are that are not on the PATH
_FIELDS = (
    "index", "uuid", "name", "driver_version", "persistence_mode", "mig.mode.current",
    "ecc.mode.current", "compute_mode", "power.limit", "clocks.max.sm", "clocks.max.memory",
    "pcie.link.gen.max", "pcie.link.width.current",
)  # fmt: skip
_OLDEST = 4  # of these fields are known to every driver
_GPU = re.compile(r"GPU \d+: .+\(UUID: (?P<uuid>[^)]+)\)")
_INSTANCE = re.compile(r"\s+MIG (?P<profile>\S+)\s+Device\s+\d+:\s+\(UUID: (?P<uuid>[^)]+)\)")
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_LAST = 1.0  # seconds for a process to die
_MIB = 2**20


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
    """The path of the vendor's tool; empty if there is none."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_ASIDE))
    names = ("nvidia-smi", "amd-smi", "rocm-smi")
    return next((found for name in names if (found := shutil.which(name, path=path))), "")


def list_gpus(seconds: float) -> GpuListing:
    """The GPUs of this machine, as far as the tool says so within *seconds*."""
    path = tool()
    name = os.path.basename(path)
    if not path:
        return GpuListing()
    if name == "nvidia-smi":
        return _of_nvidia(path, seconds)
    return _of_amd(path, name, seconds)


def memory_in_use(seconds: float) -> Sequence[float]:
    """Bytes of GPU memory that each process on the GPUs uses; empty if the tool cannot tell."""
    path = tool()
    if not path.endswith("nvidia-smi"):
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
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True,
        )  # fmt: skip
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
        return Output("", f"{name} failed: {_first_line(text) or process.returncode}", text)
    return Output(text)


def _of_nvidia(path: str, seconds: float) -> GpuListing:
    questions = {
        "gpus": _query(path, _FIELDS),
        "instances": (path, "-L"),
        "topology": (path, "topo", "-m"),
    }
    with ThreadPoolExecutor(len(questions)) as pool:
        answers = pool.map(partial(run_vendor_tool, seconds=seconds), questions.values())
        said = dict(zip(questions, answers, strict=True))
    if "not a valid field" in said["gpus"].trouble:  # an older driver
        said["gpus"] = run_vendor_tool(_query(path, _FIELDS[:_OLDEST]), seconds)
    instances = dict(_instances(said["instances"].text))
    rows = csv.reader(said["gpus"].text.splitlines(), skipinitialspace=True)
    gpus = (_nvidia_gpu(row) for row in rows if len(row) >= _OLDEST and row[0].isdigit())
    return GpuListing(
        tool="nvidia-smi",
        gpus=tuple(replace(one, instances=instances.get(one.uuid, {})) for one in gpus),
        topology=_matrix(said["topology"].text),
        trouble=said["gpus"].trouble,
    )


def _query(path: str, fields: Sequence[str]) -> tuple[str, ...]:
    return (path, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")


def _nvidia_gpu(row: Sequence[str]) -> ListedGpu:
    said = dict(zip(_FIELDS, map(known_text, row), strict=False))
    return ListedGpu(
        name=said["name"],
        uuid=said["uuid"],
        driver=said["driver_version"],
        persistence=said.get("persistence_mode", ""),
        mig=said.get("mig.mode.current", ""),
        ecc=said.get("ecc.mode.current", ""),
        compute_mode=said.get("compute_mode", ""),
        power=said.get("power.limit", ""),
        clock=said.get("clocks.max.sm", ""),
        memory_clock=said.get("clocks.max.memory", ""),
        pcie_generation=said.get("pcie.link.gen.max", ""),
        pcie_lanes=said.get("pcie.link.width.current", ""),
        instances={},
    )


def _instances(text: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The MIG instances of each GPU, from `nvidia-smi -L`: the profile by UUID."""
    uuid, found = "", dict[str, str]()
    for line in text.splitlines():
        if gpu := _GPU.match(line):
            uuid, found = gpu["uuid"], {}
            yield uuid, found
        elif instance := _INSTANCE.match(line):
            found[instance["uuid"]] = instance["profile"]


def _matrix(text: str) -> str:
    """The matrix of links, without the styles of a terminal and without its legend."""
    plain = _STYLE.sub("", text).partition("\nLegend")[0]
    return "\n".join(line.rstrip() for line in plain.splitlines() if line.strip())


def _of_amd(path: str, name: str, seconds: float) -> GpuListing:
    old = ("--showproductname", "--showuniqueid", "--showdriverversion", "--showmaxpower", "--json")
    ask = ("static", "--json") if name == "amd-smi" else old
    links = ("topology",) if name == "amd-smi" else ("--showtopo",)
    with ThreadPoolExecutor(2) as pool:
        asked = ((path, *ask), (path, *links))
        said, topology = pool.map(partial(run_vendor_tool, seconds=seconds), asked)
    try:
        gpus = tuple(_amd_gpus(json.loads(said.text))) if said.text else ()
    except ValueError:
        return GpuListing(tool=name, trouble=f"{name} did not answer in JSON")
    return GpuListing(tool=name, gpus=gpus, topology=_matrix(topology.text), trouble=said.trouble)


def _amd_gpus(said: object) -> Iterator[ListedGpu]:
    """The GPUs in what amd-smi or rocm-smi printed; their fields differ from version to version."""
    if isinstance(said, dict) and "gpu_data" in said:
        said = said["gpu_data"]
    cards = said if isinstance(said, list) else _cards(said)
    everywhere = dict(_leaves(said.get("system", {}))) if isinstance(said, dict) else {}
    for card in cards:
        known = {**everywhere, **dict(_leaves(card))}
        yield ListedGpu(
            name=_first(known, "market_name", "card series", "device name"),
            uuid=_first(known, "unique id", "asic_serial").lower().removeprefix("0x"),
            driver=_first(known, "driver.version", "driver version"),
            power=_first(known, "max_power.value", "max_power", "max graphics package power (w)"),
            instances={},
        )


def _cards(said: object) -> Sequence[object]:
    known = said if isinstance(said, dict) else {}
    return [one for name, one in known.items() if str(name).startswith("card")]


def _leaves(said: object, above: str = "") -> Iterator[tuple[str, str]]:
    """The texts in nested mappings, by the names of the last two levels and of the last."""
    for key, value in said.items() if isinstance(said, dict) else ():
        name = str(key).lower()
        if isinstance(value, dict):
            yield from _leaves(value, name)
        else:
            yield name, known_text(str(value))
            yield f"{above}.{name}", known_text(str(value))


def _first(known: Mapping[str, str], *names: str) -> str:
    return next((known[name] for name in names if known.get(name)), "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:200]
