"""What GPUs, links and the kernel's log say of themselves, against a table of what healthy ones say.

Everything that is not in the table is odd, and is told in the tool's own words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.core.yaml_file import read_document
from app.labs.check.world import CheckFinding, CheckVerdict, World
from app.labs.evidence.faults import fault_cure
from app.labs.machines.vendor import GpuLog, SmiLog, known_text, read_smi_log
from app.labs.spec import FrozenModel

_CHANGING = ("ecc_", "retired_", "remapped_", "gpu_re", "fabric/", "clocks_event", "clocks_throttle")
_LOST = re.compile(r"\blost\b|unable to determine|fallen off|requires? reset|unknown error|ERR!", re.I)
_INFOROM = re.compile(r"infoROM is corrupted", re.IGNORECASE)
_RECORD = re.compile(
    r"^(?:\[ *(?P<at>\d+\.\d+)\] )?.*(?:NVRM: Xid|nvidia-nvswitch\d+: (?P<switch>SXid)) \((?:PCI:)?(?P<place>[^)]+)\): "
    r"(?P<number>\d+)(?:, (?P<rest>.*))?",
    re.MULTILINE,
)
_SEVERITY = re.compile(r"\b(?P<non>Non-?)?fatal\b", re.IGNORECASE)
_ENDED = re.compile(r"action changed from .* to 0x0 \(None\)")
_ACTION = re.compile(r"action changed from .* to 0x[1-9A-Fa-f]\w* \((?P<action>[^)]+)\)")
_NO_LOG = "Let this user read the kernel's log, or see dmesg as root: dmesg | grep Xid."


class ValueRule(FrozenModel):
    """The *healthy* values at the paths of that pattern, those that *fail*, and the cure of others."""

    path: re.Pattern[str]
    healthy: re.Pattern[str]
    fails: re.Pattern[str] = re.compile("(?!)")
    cure: str = "See the documentation of nvidia-smi, or ask the vendor."


class XidTable(FrozenModel):
    """Xids by what they say of the machine, each in words."""

    failed: Mapping[int, str]
    odd: Mapping[int, str]
    program: Mapping[int, str]


class HealthTable(FrozenModel):
    """The contents of `gpu_state.yaml`."""

    ignored: tuple[str, ...]
    healthy: re.Pattern[str]
    rules: tuple[ValueRule, ...]
    xids: XidTable

    def rule_of(self, path: str) -> ValueRule:
        """The rule for *path*, or that of all others."""
        other = ValueRule(path=re.compile(""), healthy=self.healthy)
        return next((rule for rule in self.rules if rule.path.fullmatch(path)), other)


@cache
def health_table() -> HealthTable:
    """What healthy GPUs say."""
    return HealthTable.model_validate(read_document(Path(__file__).with_suffix(".yaml")).values)


def read_state(world: World) -> tuple[SmiLog, str]:
    """What `nvidia-smi -q -x` says now, and why it says nothing."""
    said = world.ask("nvidia-smi", "-q", "-x")
    log = read_smi_log(said.text or said.printed)
    return log, "" if log.gpus or log.other else said.trouble or "nvidia-smi -q -x names no GPU"


def judge_modes(log: SmiLog) -> Iterator[CheckFinding]:
    """What *log* says beside its values, and the values that stay as they are while GPUs work."""
    for line in log.other:
        if _LOST.search(line):
            yield CheckFinding.failed("nvidia-smi", line, "all GPUs answer", fault_cure("fallen off the bus"))
        elif _INFOROM.search(line):
            cure = (
                "The GPU computes, but its serial number and its counts of memory errors may be "
                "missing. If the warning is there after a restart, ask the vendor."
            )
            yield CheckFinding.odd("InfoROM", line, "no warning", cure)
        else:
            yield CheckFinding.unknown("nvidia-smi also says", line)
    if log.gpus:
        yield from _judged("modes", log.gpus, [path for path in _paths(log.gpus) if not path.startswith(_CHANGING)])


def judge_state(gpus: Sequence[GpuLog]) -> Iterator[CheckFinding]:
    """The values that a load may have changed: errors and repairs of memory, fabric, clocks that are held down."""
    paths = [path for path in _paths(gpus) if path.startswith(_CHANGING)]
    if not any(one.said(path) for one in gpus for path in paths):
        yield CheckFinding.unknown(
            "state of the GPUs", "the driver tells neither errors of memory nor the state of a fabric"
        )
        return
    yield from _judged("state of the GPUs", gpus, paths)


def _paths(gpus: Sequence[GpuLog]) -> list[str]:
    every = dict.fromkeys(path for one in gpus for path in one.values)
    return [path for path in every if not path.startswith(health_table().ignored)]


def _judged(name: str, gpus: Sequence[GpuLog], paths: Sequence[str]) -> Iterator[CheckFinding]:
    found = [*_lost(gpus, paths), *(one for path in paths for one in _judged_value(path, gpus)), *_waiting(gpus, paths)]
    yield from found
    if not found:
        yield CheckFinding.passed(name, f"{len(paths)} values of each GPU are those of healthy ones")


def _lost(gpus: Sequence[GpuLog], paths: Sequence[str]) -> Iterator[CheckFinding]:
    for number, one in enumerate(gpus):
        if says := next(filter(_LOST.search, (one.values.get(path, "") for path in paths)), ""):
            cure = fault_cure("fallen off the bus")
            yield CheckFinding.failed(f"GPU {number}", f"{says} ({one.bus})", "it answers", cure)


def _judged_value(path: str, gpus: Sequence[GpuLog]) -> Iterator[CheckFinding]:
    rule, places = health_table().rule_of(path), dict[str, list[str]]()
    for number, one in enumerate(gpus):
        text = one.values.get(path, "")
        if known_text(text) and not rule.healthy.fullmatch(text) and not _LOST.search(text):
            places.setdefault(text, []).append(str(number))
    for text, numbers in places.items():
        verdict = CheckFinding.failed if rule.fails.fullmatch(text) else CheckFinding.odd
        expected = rule.healthy.pattern.replace("|", " or ") if rule.path.pattern else "a word of healthy GPUs"
        yield verdict(path, f"{text} on GPU {', '.join(numbers)}", expected, rule.cure)


def _waiting(gpus: Sequence[GpuLog], paths: Sequence[str]) -> Iterator[CheckFinding]:
    """Modes that change at the next reset."""
    for path in (one for one in paths if "_mode/pending_" in one):
        current = path.replace("/pending_", "/current_")
        changed = [str(n) for n, one in enumerate(gpus) if one.said(path) != one.said(current)]
        if changed:
            cure = "It takes effect at the next reset: reset the GPU, or set it back."
            says = f"{gpus[int(changed[0])].said(path)} on GPU {', '.join(changed)}"
            yield CheckFinding.odd(path, says, f"as {current}", cure)


@dataclass(frozen=True, slots=True)
class Xid:
    """A fault that the driver reported *at* seconds after the start of the machine."""

    at: float
    number: int
    place: str
    verdict: CheckVerdict
    says: str
    has_ended: bool = False

    @property
    def shown(self) -> str:
        """The fault in words."""
        return f"{self.number} on {self.place}{self.says and ': '}{self.says}"


def read_xids(text: str, begun: float) -> list[Xid]:
    """The faults in the kernel's log *text* that a program cannot cause and that have not ended since.

    Once no action is needed any more, the faults of that GPU from before the check has *begun* are over.
    """
    found: list[Xid] = []
    for line in _RECORD.finditer(text):
        one = _xid(line)
        if one.has_ended:
            found = [fault for fault in found if fault.place != one.place or fault.at >= begun]
        elif one.verdict is not CheckVerdict.PASSED:
            found.append(one)
    return found


def _xid(line: "re.Match[str]") -> Xid:
    number, rest, table = int(line["number"]), line["rest"] or "", health_table().xids
    place, words = line["place"], table
    at = float(line["at"] or 0.0)
    if line["switch"]:
        words, place = XidTable(failed={}, odd={}, program={}), f"NVSwitch {place}"
    verdict = CheckVerdict.ODD
    if number in words.program:
        verdict = CheckVerdict.PASSED
    elif severity := _SEVERITY.search(rest):
        verdict = CheckVerdict.ODD if severity["non"] else CheckVerdict.FAILED
    elif number in words.failed:
        verdict = CheckVerdict.FAILED
    says = words.failed.get(number) or words.odd.get(number) or rest[:100]
    if severity := _SEVERITY.search(rest):
        says = f"{says}, {rest[: severity.end()]}" if number in words.odd else says
    if action := _ACTION.search(rest):
        says = f"{says}: {action['action']}"
    return Xid(at, number, place, verdict, says, has_ended=bool(_ENDED.search(rest)))


def judge_log(world: World) -> Iterator[CheckFinding]:
    """The faults that the driver reported: during the check, and before it."""
    said = world.ask("dmesg")
    if said.trouble:
        said = world.ask("journalctl", "--dmesg", "--no-pager", "--output=short-monotonic")
    if said.trouble:
        yield CheckFinding.unknown("Xids", said.trouble, _NO_LOG)
        return
    found = read_xids(said.text, world.begun)
    if not found:
        yield CheckFinding.passed("Xids", "none that a program cannot cause")
    for when, some in (
        ("during", [one for one in found if one.at >= world.begun]),
        ("before", [one for one in found if one.at < world.begun]),
    ):
        if some:
            worst = max(some, key=lambda one: one.verdict is CheckVerdict.FAILED)
            is_new_fault = when == "during" and worst.verdict is CheckVerdict.FAILED
            shown = dict.fromkeys(one.shown for one in (worst, *some))
            verdict = CheckFinding.failed if is_new_fault else CheckFinding.odd
            cure = fault_cure("Xid (PCI:0): 1")
            yield verdict(
                f"Xids {when} the check", "; ".join(list(shown)[:3]), "none that a program cannot cause", cure
            )
