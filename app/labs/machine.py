"""What a run ran on, found out without torch."""

import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

_PATIENCE = 10  # seconds


def describe_machine() -> Mapping[str, object]:
    """Processor, cores, memory, GPUs and how they are linked, load, and the system."""
    found: dict[str, object] = {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "gpus": gpus(),
    }
    if found["gpus"]:
        found["topology"] = _asked("nvidia-smi", "topo", "-m")
        found["driver"] = _asked(
            "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"
        )
    return found


def gpus() -> list[str]:
    """The names of the GPUs that a run may use."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    if shown == "":
        return []
    names = _asked("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()
    return names[: len(shown.split(","))] if shown else names


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def _asked(*command: str) -> str:
    """What *command* prints; nothing where it is not there."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
