"""Step 14: what the load has left behind: Xids, memory errors, recovery."""

import re
from collections.abc import Iterator, Mapping, Sequence

from app.labs.check.findings import CheckFinding, failed_finding, odd, passed, unknown
from app.labs.check.hardware import on_the_nodes
from app.labs.check.world import World
from app.labs.evidence.faults import fault_cure
from app.labs.machines.nvidia_output import GpuSections, read_gpu_sections

_XID = re.compile(
    r"^(?:\[ *(?P<at>\d+\.\d+)\] )?.*NVRM: Xid \((?:PCI:)?(?P<gpu>[^)]+)\): (?P<number>\d+)", re.MULTILINE
)
_BY_PROGRAMS = (13, 31, 43, 45)  # also those that this check lets fail
# Of NVIDIA's list of Xid errors; each is a matter of the hardware or of its firmware.
_OF_HARDWARE: Mapping[int, str] = {
    48: "an error of memory that could not be corrected",
    63: "a row of memory was replaced, which takes effect at the next reset",
    64: "a row of memory could not be replaced",
    74: "an error of NVLink",
    79: "the GPU has fallen off the bus",
    92: "many errors of memory were corrected",
    94: "an error of memory, contained",
    95: "an error of memory, not contained",
    119: "the GPU's own processor (GSP) does not answer",
    120: "the GPU's own processor (GSP) failed",
    140: "an error of memory that could not be corrected",
    154: "the GPU has to be reset",
}
_NO_LOG = "Let this user read the kernel's log, or see dmesg as root: dmesg | grep Xid."
_RESET = "Reset the GPU or restart the machine, and replace the GPU if it happens again."


def after_the_load(world: World) -> Iterator[CheckFinding]:
    """The state in which the steps before have left the GPUs."""
    if world.is_slurm:
        yield on_the_nodes("state after the load")
        return
    devices = world.devices()
    if devices.kind != "cuda":
        yield unknown("state after the load", devices.why_none if devices.kind == "none" else "not for AMD")
        return
    yield from _xids(world)
    said = world.ask("nvidia-smi", "-q")
    gpus = read_gpu_sections(said.text)
    if not gpus:
        yield unknown("state of the GPUs", said.trouble or "nvidia-smi -q names no GPU")
        return
    yield _memory(gpus)
    yield _rows(gpus)
    yield from _recovery(gpus)


def _xids(world: World) -> Iterator[CheckFinding]:
    """The faults that the driver reported: during the check, and before it."""
    said = world.ask("dmesg")
    if said.trouble:
        said = world.ask("journalctl", "--dmesg", "--no-pager", "--output=short-monotonic")
    if said.trouble:
        yield unknown("Xids", said.trouble, _NO_LOG)
        return
    found = [
        (float(one["at"] or 0.0) >= world.begun, int(one["number"]), one["gpu"])
        for one in _XID.finditer(said.text)
        if int(one["number"]) not in _BY_PROGRAMS
    ]
    if not found:
        yield passed("Xids", "none that a program cannot cause")
    for is_new in (True, False):
        if of_then := [f"{number} on {gpu}" for when, number, gpu in found if when is is_new]:
            yield _reported(of_then, is_new, [number for when, number, _ in found if when is is_new])


def _reported(found: Sequence[str], is_new: bool, numbers: Sequence[int]) -> CheckFinding:
    """The Xids *found*; one of the hardware that is new is a failure."""
    known = [_OF_HARDWARE[number] for number in numbers if number in _OF_HARDWARE]
    when = "during the check" if is_new else "before the check"
    text = f"{'; '.join(dict.fromkeys(found[:3]))}{f': {known[0]}' if known else ''}"
    cure = fault_cure("Xid (PCI:0): 1")
    verdict = failed_finding if is_new and known else odd
    return verdict(f"Xids {when}", text, "none that a program cannot cause", cure)


def _memory(gpus: Sequence[GpuSections]) -> CheckFinding:
    """The errors of memory since the driver was loaded, by what `nvidia-smi -q` counts."""
    counts = [one.below("ECC Errors", "Volatile") for one in gpus]
    if not any(text.isdigit() for one in counts for text in one.values()):
        return unknown("memory errors", "the driver does not count them")
    lost = _with_errors(counts, "Uncorrectable")
    if lost:
        return failed_finding("memory errors", f"uncorrected {lost}", "none uncorrected", _RESET)
    corrected = _with_errors(counts, "Correctable")
    return passed("memory errors", f"none uncorrected{f', corrected {corrected}' if corrected else ''}")


def _with_errors(counts: Sequence[Mapping[str, str]], kind: str) -> str:
    """The GPUs that have errors of that *kind*, and how many, in words."""
    sums = [sum(int(text) for name, text in one.items() if f" {kind}" in name and text.isdigit()) for one in counts]
    return ", ".join(f"{number} on GPU {gpu}" for gpu, number in enumerate(sums) if number)


def _rows(gpus: Sequence[GpuSections]) -> CheckFinding:
    """Whether rows or pages of memory wait for a reset, or could not be replaced."""
    name, expected = "rows of memory", "none pending, none that could not be replaced"
    broken = _those(gpus, ("Remapped Rows", "Remapping Failure Occurred"), "Yes")
    if broken:
        cure = "Replace the GPU: it has no spare rows left."
        return failed_finding(name, f"a row could not be replaced on {broken}", expected, cure)
    waiting = _those(gpus, ("Remapped Rows", "Pending"), "Yes") or _those(
        gpus, ("Retired Pages", "Pending Page Blacklist"), "Yes"
    )
    if waiting:
        return failed_finding(name, f"replaced at the next reset of {waiting}", expected, _RESET)
    return passed(name, "none pending")


def _recovery(gpus: Sequence[GpuSections]) -> Iterator[CheckFinding]:
    """What the driver, from 560 on, says has to be done with a GPU."""
    asked = {one.said("GPU Recovery Action") for one in gpus} - {"", "None"}
    if asked:
        yield failed_finding("recovery action", ", ".join(sorted(asked)), "None", _RESET)


def _those(gpus: Sequence[GpuSections], path: tuple[str, ...], word: str) -> str:
    found = [str(number) for number, one in enumerate(gpus) if one.said(*path) == word]
    return f"GPU {', '.join(found)}" if found else ""
