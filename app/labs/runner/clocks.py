"""The clock and the power of a GPU, as the tool of its vendor reports them."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import torch
from pydantic import TypeAdapter

from app.labs.runner.events import ClocksEvent, GpuReading

Ask = Callable[[Sequence[str]], str | None]
_PATIENCE = 5  # seconds
_READING: TypeAdapter[GpuReading] = TypeAdapter(GpuReading)
_MEGA, _MICRO, _MIB, _PERCENT = 1e6, 1e-6, 2**20, 0.01
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

# Variables that renumber the GPUs of a process, unlike those of amd-smi.
_HIDDEN = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def reading_of(device: torch.device) -> GpuReading | None:
    """The state of *device*; None where nobody says, or not of which GPU."""
    if not torch.version.hip:
        return nvidia_reading(str(torch.cuda.get_device_properties(device).uuid))
    return None if any(map(os.environ.get, _HIDDEN)) else amd_reading(device.index)


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


def amd_reading(index: int, ask: Ask = output_of) -> GpuReading | None:
    """The state of the GPU that is number *index* in the list of amd-smi; None if unknown."""
    try:
        plain = json.loads(ask(("amd-smi", "metric", "--json")) or "")
    except ValueError:
        return None
    gpus = plain.get("gpu_data") if isinstance(plain, dict) else plain
    own = next((one for one in gpus or () if isinstance(one, dict) and one.get("gpu") == index), None)
    if own is None:
        return None
    return GpuReading(
        clock=_amd(own, "clock", "gfx_0", "clk", scale=_MEGA),
        highest_clock=_amd(own, "clock", "gfx_0", "max_clk", scale=_MEGA),
        power=_amd(own, "power", "socket_power"),
        temperature=_amd(own, "temperature", "hotspot"),
        reasons=("its limits",) if _at(own, "power", "throttle_status") == "THROTTLED" else (),
    )


def _nvidia(cells: Mapping[str, str]) -> GpuReading:
    now = next((cells[name] for name in _NOW if name in cells), "")
    slowed: dict[str, float] = {}
    for name, reason in _COUNTED.items():
        if (value := _leading_number(cells.get(name, ""), _MICRO)) is not None:
            slowed[reason] = slowed.get(reason, 0.0) + value
    return GpuReading(
        uuid=cells["uuid"],
        clock=_leading_number(cells["clocks.sm"], _MEGA),
        highest_clock=_leading_number(cells["clocks.max.sm"], _MEGA),
        power=_leading_number(cells["power.draw"]),
        power_limit=_leading_number(cells["power.limit"]),
        temperature=_leading_number(cells["temperature.gpu"]),
        memory_used=_leading_number(cells["memory.used"], _MIB),
        utilization=_leading_number(cells["utilization.gpu"], _PERCENT),
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


def _leading_number(text: str, scale: float = 1.0) -> float | None:
    """The number that *text* begins with; None for [N/A] and the like."""
    try:
        return float(text.split()[0]) * scale
    except (ValueError, IndexError):
        return None


def _amd(gpu: Mapping[str, Any], *way: str, scale: float = 1.0) -> float | None:
    value = _at(gpu, *way)
    plain = value.get("value") if isinstance(value, dict) else value
    return _leading_number(str(plain), scale)


def _at(found: Any, *way: str) -> Any:
    """What *found* has at the end of *way*; None where it has no such place."""
    for name in way:
        found = found.get(name) if isinstance(found, dict) else None
    return found
