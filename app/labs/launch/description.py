"""Write down the machine that rank 0 is on: `python -m app.labs.launch.description FOLDER RANKS NODES`.

A process of its own, since it may ask CUDA, after which a rank could fork nothing that uses it. RANKS are
those on this node, and NODES is 0 where nobody knows.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path

from app.labs.machines.devices import NO_DEVICES, find_gpus, has_traces, spawn_query
from app.labs.machines.machine import describe_machine
from app.labs.run import LabRun, MachineEvent


def main() -> None:
    """Add the machine to the events of the run."""
    run, ranks, nodes = LabRun(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
    devices = find_gpus(spawn_query) if run.job.backend == "nccl" and has_traces() else NO_DEVICES
    devices = replace(devices, devices=devices.devices[:ranks])
    run.write_event(MachineEvent(at=time.time(), machine=describe_machine(devices, nodes or None)))


if __name__ == "__main__":
    main()
