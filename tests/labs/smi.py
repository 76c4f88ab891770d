"""What nvidia-smi prints on machines of several kinds, as text; the values of a GPU may be changed."""

from collections.abc import Mapping
from typing import Any

_SECTIONS = """\
GPU 00000000:{bus:02X}:00.0
    Product Name                          : {name}
    Persistence Mode                      : Enabled
    PCI
        Bus                               : 0x{bus:02X}
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : {generation}
                Device Current            : 5
            Link Width
                Max                       : {widest}
                Current                   : {width}
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable Parity     : 0
            DRAM Correctable              : {corrected}
            DRAM Uncorrectable            : {uncorrected}
            SRAM Threshold Exceeded       : No
        Aggregate
            DRAM Uncorrectable            : 7
    Retired Pages
        Single Bit ECC                    : N/A
        Pending Page Blacklist            : {pages}
    Remapped Rows
        Correctable Error                 : 0
        Pending                           : {pending}
        Remapping Failure Occurred        : {failure}
    Temperature
        GPU Current Temp                  : 34 C
    GPU Recovery Action                   : {action}
    Fabric
        State                             : {state}
        Status                            : {status}
        CliqueId                          : 0
        Health
            Bandwidth                     : {health}
            Route Unhealthy               : False
"""
_USUAL = {
    "name": "NVIDIA H100 80GB HBM3", "generation": "5", "widest": "16x", "width": "16x",
    "corrected": "0", "uncorrected": "0", "pages": "N/A", "pending": "No", "failure": "No",
    "action": "None", "state": "Completed", "status": "Success", "health": "N/A",
}  # fmt: skip
NO_FABRIC: Mapping[str, Any] = {"state": "N/A", "status": "N/A"}
# What a driver prints for a GPU without ECC, rows, or a fabric.
PLAIN: Mapping[str, Any] = {
    **NO_FABRIC, "corrected": "N/A", "uncorrected": "N/A", "pending": "N/A", "failure": "N/A",
    "action": "N/A",
}  # fmt: skip


def sections(count: int = 8, last: Mapping[str, str] | None = None, **every: str) -> str:
    """What `nvidia-smi -q` prints; *last* is different on the last GPU."""
    gpus = []
    for number in range(count):
        values = {**_USUAL, **every, **((last or {}) if number == count - 1 else {})}
        gpus.append(_SECTIONS.format(bus=0x1B + number, **values))
    head = "\n==============NVSMI LOG==============\n\nDriver Version : 580.65.06\n"
    return f"{head}Attached GPUs                             : {count}\n" + "\n".join(gpus)
