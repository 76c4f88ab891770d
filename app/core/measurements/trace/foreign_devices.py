"""Devices whose activity is not read, so that a report can say so."""

import re
from collections import Counter
from dataclasses import dataclass, field

from app.core.measurements.trace.events import Event

# The categories that Kineto gives to what a host does, and to what GPUs do.
# Source: pytorch/kineto, libkineto/include/ActivityType.h.
_KNOWN = {
    "", "cpu_op", "user_annotation", "gpu_user_annotation", "gpu_memcpy", "gpu_memset", "kernel",
    "memcpy", "memset", "runtime", "operator", "external_correlation", "cuda_runtime",
    "cuda_driver", "cpu_instant_event", "python_function", "overhead", "cuda_sync", "cuda_event",
    "cuda_profiler_range", "xpu_runtime", "xpu_driver", "xpu_sync", "collective_comm",
    "privateuse1_runtime", "privateuse1_driver", "hardware_counters", "trace", "glow_runtime",
    "mtia_runtime",
}  # fmt: skip
_DEVICE = re.compile(r"mtia|hpu|npu|tpu|mlu|musa|neuron|xla|ascend", re.IGNORECASE)
_PROCESS = re.compile(r"^/device:\w+:\d+|^(?:Ascend Hardware|[MNHT]PU)\b")
_NAMES = 8  # that are kept
_LONGEST = 40  # letters of a name


@dataclass
class ForeignActivity:
    """Events of devices that are not read, by category, and processes that are such a device."""

    categories: Counter[str] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Count *event* if it is of such a device."""
        category = event.cat[:_LONGEST]
        if is_foreign(event) and (category in self.categories or len(self.categories) < _NAMES):
            self.categories[category] += 1
        elif (process := device_process(event)) and len(self.processes) < _NAMES:
            self.processes.add(process)

    def describe(self) -> str:
        """What there is, in words; empty without any."""
        if self.categories:
            kinds = ", ".join(self.categories)
            count = sum(self.categories.values())
            return f"{count:,} event{'s' * (count > 1)} of a device ({kinds})"
        return f"processes called {', '.join(sorted(self.processes))}" if self.processes else ""


def device_process(event: Event) -> str:
    """The name of a process that is a device, as profiles of JAX and of Ascend say; or nothing."""
    name = event.args.name if event.ph == "M" and event.args else None
    found = _PROCESS.match(name) if isinstance(name, str) else None
    return found[0][:_LONGEST] if found else ""


def is_foreign(event: Event) -> bool:
    """Whether *event* happened on a device that is not read."""
    if event.ph != "X" or event.cat.lower() in _KNOWN:
        return False
    on_a_stream = event.args is not None and event.args.stream is not None
    return on_a_stream or _DEVICE.search(event.cat) is not None
