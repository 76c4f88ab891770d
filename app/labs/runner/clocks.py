"""The clock and power of a GPU, and how long threads of a rank were ready to run and had no core."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import torch
from pydantic import TypeAdapter

from app.labs.runner.events import ClocksEvent, GpuReading, WaitEvent

Ask = Callable[[Sequence[str]], str | None]
_PATIENCE = 5  # seconds
_READING: TypeAdapter[GpuReading] = TypeAdapter(GpuReading)
_MEGA, _MICRO, _MIB, _PERCENT = 1e6, 1e-6, 2**20, 0.01
IN_USE, BUSY = 2 * 2**30, 0.1  # bytes, and share of the time, of a GPU before the run
_BASE = (
    "uuid",
    "clocks.sm",
    "clocks.max.sm",
    "power.draw",
    "power.limit",
    "memory.used",
    "utilization.gpu",
    "temperature.gpu",
)
# Bits of nvml.h that hold a clock down; an idle GPU, say, is not held down.
_BITS = {
    0x4: "the power limit",
    0x8: "a slowdown of the hardware",
    0x20: "the temperature",
    0x40: "the temperature",
    0x80: "the power supply",
}
# Counters of microseconds since the driver was loaded; older drivers lack them.
_COUNTED = {
    "clocks_event_reasons_counters.sw_power_cap": "the power limit",
    "clocks_event_reasons_counters.sw_thermal_slowdown": "the temperature",
    "clocks_event_reasons_counters.hw_thermal_slowdown": "the temperature",
    "clocks_event_reasons_counters.hw_power_brake_slowdown": "the power supply",
}
_NOW = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")  # the name in older drivers
# A field that a driver does not know makes the whole query fail: ask for less and less.
_QUERIES = ((*_BASE, _NOW[0], *_COUNTED), (*_BASE, _NOW[0]), (*_BASE, _NOW[1]), _BASE)


class BusyGpuError(RuntimeError):
    """Others use the GPU of this rank."""


def use_of_others(reading: GpuReading | None) -> str:
    """What others do on a GPU that this run has not used yet, and what to do about it; empty if nothing."""
    if reading is None:
        return ""
    used, share = reading.memory_used or 0.0, reading.utilization or 0.0
    found = [f"{used / 2**30:.3g} GiB of it are in use"] if used > IN_USE else []
    if share > BUSY:
        found.append(f"it is at work for {share:.0%} of the time")
    says = f"others use GPU {reading.uuid}: {' and '.join(found)}"
    return f"{says}. Measure when it is free, or take --anyway" if found else ""


def reading_of(device: torch.device) -> GpuReading | None:
    """The state of *device*; None where nobody says, as for GPUs of AMD."""
    return None if torch.version.hip else nvidia_reading(str(torch.cuda.get_device_properties(device).uuid))


def readings_event(when: Literal["before", "after"], texts: Sequence[str]) -> ClocksEvent | None:
    """The event with what each rank read of its GPU, as `reading_text` wrote it; None if none."""
    readings = tuple(_READING.validate_json(text) if text else None for text in texts)
    if not any(readings):
        return None
    first = readings[0] or GpuReading()
    return ClocksEvent(at=time.time(), when=when, reading=first, readings=readings)


def reading_text(reading: GpuReading | None) -> str:
    """*reading* as a text to send to rank 0; empty for None."""
    return json.dumps(asdict(reading)) if reading else ""


def output_of(command: Sequence[str]) -> str | None:
    """What *command* prints, empty where it fails; None where it is absent or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return "" if done.returncode else done.stdout


def nvidia_reading(uuid: str, ask: Ask = output_of) -> GpuReading | None:
    """The state of the GPU *uuid*, from nvidia-smi; None where it does not say."""
    for fields in _QUERIES:
        query = f"--query-gpu={','.join(fields)}"
        text = ask(("nvidia-smi", query, "--format=csv,noheader,nounits"))
        if text is None:
            return None
        rows = [[cell.strip() for cell in line.split(",")] for line in text.splitlines()]
        if found := [row for row in rows if len(row) == len(fields)]:
            own = next((row for row in found if row[0].removeprefix("GPU-") == uuid), None)
            return _nvidia(dict(zip(fields, own, strict=True))) if own else None
    return None


def _nvidia(cells: Mapping[str, str]) -> GpuReading:
    now = next((cells[name] for name in _NOW if name in cells), "")
    slowed: dict[str, float] = {}
    for name, reason in _COUNTED.items():
        if (value := _number(cells.get(name, ""), _MICRO)) is not None:
            slowed[reason] = slowed.get(reason, 0.0) + value
    return GpuReading(
        uuid=cells["uuid"],
        clock=_number(cells["clocks.sm"], _MEGA),
        highest_clock=_number(cells["clocks.max.sm"], _MEGA),
        power=_number(cells["power.draw"]),
        power_limit=_number(cells["power.limit"]),
        temperature=_number(cells["temperature.gpu"]),
        memory_used=_number(cells["memory.used"], _MIB),
        utilization=_number(cells["utilization.gpu"], _PERCENT),
        reasons=_reasons(now),
        slowed=slowed,
    )


def _reasons(mask: str) -> tuple[str, ...]:
    """The reasons in *mask*, a hexadecimal number; none where it is not one."""
    try:
        bits = int(mask, 16)
    except ValueError:
        return ()
    return tuple(dict.fromkeys(reason for bit, reason in _BITS.items() if bits & bit))


def _number(text: str, scale: float = 1.0) -> float | None:
    """The number that *text* begins with; None for [N/A] and the like."""
    try:
        return float(text.split()[0]) * scale
    except (ValueError, IndexError):
        return None


_TASKS = Path("/proc/self/task")
_NANO = 1e-9


@dataclass(frozen=True, slots=True)
class CoreWait:
    """*seconds* of samples, and those of them in which the thread that waited most was *waiting* for a core.

    None where the kernel does not count them.
    """

    seconds: float = 0.0
    waiting: float | None = None

    def as_json(self) -> str:
        """To send it to rank 0."""
        return json.dumps(asdict(self))


class WaitMeter:
    """Counts while samples are taken, and only then."""

    def __init__(self, tasks: Path = _TASKS) -> None:
        self.total = CoreWait()
        self._tasks = tasks

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count until the end of this context."""
        before, begun = thread_waits(self._tasks), time.perf_counter()
        try:
            yield
        finally:
            seconds, after = time.perf_counter() - begun, thread_waits(self._tasks)
            longest = max((waited - before.get(thread, 0.0) for thread, waited in after.items()), default=None)
            known = [one for one in (self.total.waiting, longest) if one is not None]
            self.total = CoreWait(self.total.seconds + seconds, sum(known) if known else None)


def thread_waits(tasks: Path) -> Mapping[str, float]:
    """Seconds that each thread has been ready without a core so far; none where nobody counts them."""
    found = {}
    for task in tasks.glob("[0-9]*"):
        with suppress(OSError, ValueError):  # the thread has ended, or this kernel has no such file
            ran, waited, _ = map(int, (task / "schedstat").read_text().split())
            if ran:
                found[task.name] = waited * _NANO
    return found


def wait_event(texts: Sequence[str]) -> WaitEvent:
    """The event with the waits of every rank, each a text of `CoreWait.as_json`."""
    ranks = [CoreWait(**json.loads(text)) for text in texts]
    return WaitEvent(
        at=time.time(), seconds=tuple(one.seconds for one in ranks), waiting=tuple(one.waiting for one in ranks)
    )
