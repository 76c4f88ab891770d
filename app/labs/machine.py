"""Describe the machine that a run runs on, without importing torch."""

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 10  # seconds
Fact = int | float | str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """A machine; None for what is unknown. Runs that were sent in may describe theirs in words."""

    processor: Fact | None = None
    cores: Fact | None = None
    memory_bytes: Fact | None = None
    load: Fact | None = None
    system: Fact | None = None
    python: Fact | None = None
    gpus: tuple[Fact, ...] = ()
    topology: Fact | None = None
    driver: Fact | None = None
    nodes: Fact | None = None


def describe_machine(nodes: int | None = None) -> MachineFacts:
    """Processor, cores, memory, GPUs and their links, load, and operating system."""
    cards = gpus()
    query = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader")
    return MachineFacts(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        load=round(os.getloadavg()[0], 2),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        gpus=tuple(cards),
        topology=_output_of("nvidia-smi", "topo", "-m") if cards else None,
        driver=_output_of(*query) if cards else None,
        nodes=nodes,
    )


def gpus() -> list[str]:
    """The names of the GPUs that a run may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible == "":
        return []
    names = _output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()
    return names[: len(visible.split(","))] if visible else names


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def _output_of(*command: str) -> str:
    """What *command* prints; empty where it is not installed or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
