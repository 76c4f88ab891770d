"""The GPUs that runs may use: what torch sees, named and described by the vendor's tool.

Torch's answer counts. It is asked in a process that exits afterwards, once per process of ours and
set of variables; the vendor's tool is asked at the same time.
"""

import os
import re
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from glob import glob
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from app.core.errors import UnavailableError
from app.labs.machines.vendor import GpuListing, ListedGpu, list_gpus, tool
from app.labs.runner import probe
from app.labs.runner.probe import SeenDevice, TorchProbe

_NODES = ("/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
_CHOICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_MATTERS = (*_CHOICES, "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", "PATH")
_NONE_VISIBLE = re.compile(r"no (cuda|hip) gpus|no cuda-capable device|no rocm-capable", re.I)
_MIG = " MIG "  # between the name of a GPU and the profile of its instance
_AGAIN = 60.0  # seconds until a GPU that did not work is asked again
_CHILD, _TOOL = 60.0, 15.0  # seconds for the child that imports torch, and for the vendor's tool
Kind = Literal["cuda", "rocm", "none"]
Start = Callable[[Path], int]


_SEEN: TypeAdapter[TorchProbe] = TypeAdapter(TorchProbe)
_LONGEST = 300  # characters of what a process that failed has printed


def answer_of(start: Callable[[Path], int], seconds: float) -> TorchProbe:
    """What torch sees, or why it could not be asked.

    *start* starts a process that prints the answer into a file; it has *seconds* to do so.
    """
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "answer"
        pid = start(printed)
        if not _has_exited(pid, seconds):
            return TorchProbe(error=f"it did not answer within {seconds:g} s")
        return _answer(printed)


def spawn_query(printed: Path) -> int:
    """A new process that imports torch, and prints into the file *printed*."""
    write = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", probe.__name__],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(printed), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
    )


def _has_exited(pid: int, seconds: float) -> bool:
    """Whether the process has exited within *seconds*; it is killed if it has not."""
    with suppress(ProcessLookupError):
        watched = os.pidfd_open(pid)
        try:
            if not select.select([watched], [], [], seconds)[0]:
                signal.pidfd_send_signal(watched, signal.SIGKILL)
                return False
        finally:
            os.close(watched)
    with suppress(ChildProcessError):  # it may be the child of another process
        os.waitpid(pid, os.WNOHANG)
    return True


def _answer(printed: Path) -> TorchProbe:
    try:
        lines = printed.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    for line in reversed(lines):
        with suppress(ValidationError):
            return _SEEN.validate_json(line)
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
    return TorchProbe(error=f"the process that was to ask it died: {last[:_LONGEST]}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(SeenDevice):
    """A GPU, under the number that torch has for it in *Devices*.

    A MIG instance is called by its profile. *listed* is what the vendor's tool says about it.
    """

    name: str = "GPU"
    listed: ListedGpu | None = None

    @property
    def works(self) -> bool:
        """Whether a kernel ran on it."""
        return not self.fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """The GPUs that a process with our environment sees.

    *note* says why there are none, or what is odd about them; it is empty on a machine without a trace of a GPU.
    *setting* says that a cluster has none because nobody promised any. *error* is torch's own. *cuda* and *hip* are
    what *torch* was built for. On several *nodes*, each has as many.
    """

    kind: Kind = "none"
    devices: tuple[Device, ...] = ()
    note: str = ""
    setting: str = ""
    error: str = ""
    torch: str = ""
    cuda: str = ""
    hip: str = ""
    driver: str = ""
    topology: str = ""
    nodes: int = 1

    @property
    def usable(self) -> int:
        """How many ranks can each have a GPU: rank n gets number n, and it must work."""
        working = (number for number, one in enumerate(self.devices) if not one.works)
        return next(working, len(self.devices))

    @property
    def why_none(self) -> str:
        """Why there is no GPU, where there is none."""
        return self.note or self.setting or "this machine has no GPU"


NO_DEVICES = Devices()


def counted_names(names: Sequence[str]) -> str:
    """Each of *names* once, with how often it is there.

    >>> counted_names(["H100", "H100", "A100"])
    '2 × H100, 1 × A100'
    """
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))


def is_instance(device: Device) -> bool:
    """Whether *device* is a part of a GPU that MIG has divided."""
    return _MIG in device.name


@dataclass(slots=True)
class MachineQuery:
    """What the machine was asked, *at* a moment, and its answer when there is one."""

    at: float
    answer: "Future[Devices]" = field(default_factory=Future)

    def is_stale(self, now: float) -> bool:
        """Whether to ask again: a GPU that was busy may be free, a torch that was slow quick."""
        if not self.answer.done() or now - self.at < _AGAIN:
            return False
        if self.answer.exception():
            return True
        found = self.answer.result()
        return not found.torch or not all(one.works for one in found.devices)


_NONE_PROMISED = "WALLCLOCK_SLURM_GPUS, the number of GPUs of a node, is 0"
_ASKED: dict[tuple[str | None, ...], MachineQuery] = {}
_ASKING = threading.Lock()


def find_devices(start: Start = spawn_query, patience: float | None = None) -> Devices:
    """The GPUs of this machine; the first call takes seconds, unless there is no trace of one.

    *start* starts a process that runs `app.labs.runner.probe` into a file. With *patience*, the
    result is one without devices if the answer takes longer, in seconds.
    """
    if not has_traces():
        return NO_DEVICES
    key, now = tuple(map(os.environ.get, _MATTERS)), time.monotonic()
    with _ASKING:
        asked = _ASKED.get(key)
        if asked is None or asked.is_stale(now):
            asked = _ASKED[key] = MachineQuery(now)
            threading.Thread(target=_ask, args=(asked.answer, start), daemon=True).start()
    try:
        return asked.answer.result(patience)
    except TimeoutError:
        return Devices(note="this machine has not said yet which GPUs it has; reload the page")


def has_traces() -> bool:
    """Whether this machine may have GPUs: it has a device of theirs, or their vendor's tool."""
    return sys.platform == "linux" and (any(map(glob, _NODES)) or bool(tool()))


def promised_gpus(count: int, nodes: int = 1) -> Devices:
    """*count* GPUs on each of a cluster's *nodes*; nothing else is known of them."""
    if not count:
        return Devices(setting=_NONE_PROMISED, nodes=nodes)
    return Devices(kind="cuda", devices=(Device(),) * (count * nodes), nodes=nodes)


def find_gpus(start: Start, seconds: float = _CHILD, tool_seconds: float = _TOOL) -> Devices:
    """The GPUs of this machine, asked now: of torch and of the vendor's tool, at the same time."""
    with ThreadPoolExecutor(1) as pool:
        listing = pool.submit(list_gpus, tool_seconds)
        try:
            found = answer_of(start, seconds)
        except UnavailableError as error:  # torch is not installed
            found = TorchProbe(error=str(error))
        return join_sources(found, listing.result(), os.environ)


def join_sources(seen: TorchProbe, listing: GpuListing, environment: Mapping[str, str]) -> Devices:
    """What torch sees, with what the vendor's tool knows about the same GPUs."""
    chosen = {name: environment[name] for name in _CHOICES if name in environment}
    known = [_listed_as(number, seen, listing, chosen) for number in range(len(seen.devices))]
    devices = tuple(_device(one, gpu, chosen) for one, gpu in zip(seen.devices, known, strict=True))
    why = _oddity(devices, listing, chosen) if devices else _why_none(seen, listing, chosen)
    limits = f"{listing.trouble}, so limits and modes of the GPUs are unknown"
    return Devices(
        kind="none" if not devices else "rocm" if seen.hip else "cuda",
        devices=devices,
        note="; ".join(filter(None, (why, limits if listing.trouble and devices else ""))),
        error=seen.error,
        torch=seen.torch,
        cuda=seen.cuda,
        hip=seen.hip,
        driver=", ".join(dict.fromkeys(gpu.driver for gpu in listing.gpus if gpu.driver)),
        topology=listing.topology,
    )


def _ask(found: "Future[Devices]", start: Start) -> None:
    try:
        found.set_result(find_gpus(start))
    except BaseException as error:  # noqa: BLE001  # those who wait must hear of it
        found.set_exception(error)


def _bare(uuid: str) -> str:
    """A UUID without the vendor's prefix."""
    return re.sub(r"^(GPU|MIG)-", "", uuid).lower()


def _listed_as(number: int, seen: TorchProbe, listing: GpuListing, chosen: Mapping[str, str]) -> ListedGpu | None:
    """The GPU *number* in the listing: that of its UUID, or of its number if all are visible."""
    own = _bare(seen.devices[number].uuid)
    for gpu in listing.gpus:
        if own and own in {_bare(gpu.uuid), *map(_bare, gpu.instances)}:
            return gpu
    is_all = not chosen and len(listing.gpus) == len(seen.devices)
    return listing.gpus[number] if is_all else None


def _device(one: SeenDevice, known: ListedGpu | None, chosen: Mapping[str, str]) -> Device:
    name, uuid = one.name, known.uuid if known and known.uuid else one.uuid
    if known and known.instances:
        own, first = _bare(one.uuid), chosen.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0]
        same = [uuid for uuid in known.instances if _bare(uuid) == own]
        fitting = [uuid for uuid in known.instances if first and uuid.startswith(first)]
        uuid = (same or fitting or list(known.instances))[0]
        name = f"{known.name}{_MIG}{known.instances[uuid]}"
    return Device(**{**asdict(one), "name": name, "uuid": uuid}, listed=known)


def _oddity(devices: tuple[Device, ...], listing: GpuListing, chosen: Mapping[str, str]) -> str:
    """Why a GPU cannot be used, or why there are fewer than the machine has."""
    for number, one in enumerate(devices):
        if one.fault:
            rest = f"only the {number} before it" if number else "none"
            return f"{one.name}, GPU {number}, failed ({one.fault}), so {rest} can be used"
    instances = sum(len(gpu.instances) for gpu in listing.gpus)
    if instances > 1 and _MIG in devices[0].name:
        return f"CUDA shows a process one MIG instance only, and this machine has {instances}"
    seen = f"of which torch sees {len(devices)}"
    cut = [f"{name} is {text!r}, {seen}" for name, text in chosen.items() if text.count(",") >= len(devices)]
    if not chosen and len(listing.gpus) > len(devices):
        return f"{listing.tool} lists {len(listing.gpus)} GPUs, {seen}"
    return cut[0] if cut else ""


def _why_none(seen: TorchProbe, listing: GpuListing, chosen: Mapping[str, str]) -> str:
    """Why torch sees no GPU, although there is a trace of one."""
    if chosen and _NONE_VISIBLE.search(seen.error):
        name, text = next(iter(chosen.items()))
        return f"{name} is {text!r}, which hides every GPU"
    if not seen.torch:
        return f"torch could not be asked which GPUs it can use: {seen.error}"
    kinds = counted_names([gpu.name for gpu in listing.gpus])
    which = f"this machine's {kinds}" if kinds else "a GPU of this machine"
    build = f"ROCm {seen.hip}" if seen.hip else f"CUDA {seen.cuda}"
    built = f", built for {build}," if seen.cuda or seen.hip else ""
    return f"torch {seen.torch}{built} cannot use {which}: {seen.error}"
