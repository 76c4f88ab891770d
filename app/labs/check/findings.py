"""What a step of the check found, the report of all steps, and what is expected of known GPUs."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from app.core.errors import capitalized
from app.core.units import scale_of, show_in
from app.core.yaml_file import read_document
from app.labs.parameters import FrozenModel


class CheckVerdict(StrEnum):
    """How a finding compares with what is expected, the worst last."""

    UNKNOWN = "could not be checked"
    PASSED = "passed"
    ODD = "odd"
    FAILED = "failed"


_ORDER = tuple(CheckVerdict)


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One thing that a step looked at; *cure* says what to do about it, in sentences.

    What was measured is also a number: *value* in the base unit of *unit*.
    """

    name: str
    verdict: CheckVerdict
    found: str
    expected: str = ""
    cure: str = ""
    source: str = ""
    value: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class CheckStep:
    """A step that was taken, and the *seconds* that it took."""

    number: int
    title: str
    findings: tuple[CheckFinding, ...]
    seconds: float

    @property
    def verdict(self) -> CheckVerdict:
        """The worst verdict of its findings."""
        found = (finding.verdict for finding in self.findings)
        return max(found, key=_ORDER.index, default=CheckVerdict.UNKNOWN)

    def lines(self) -> Iterator[str]:
        """The step as lines of plain text."""
        yield f"{self.number:2}. {self.title}: {self.verdict}  ({self.seconds:.0f} s)"
        for one in self.findings:
            yield f"      {one.verdict:<20}  {one.name}: {one.found}"
            if one.expected and one.verdict is not CheckVerdict.PASSED:
                yield f"{'':28}expected: {one.expected}"
            if one.cure and one.verdict is not CheckVerdict.PASSED:
                yield f"{'':28}{one.cure}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All steps, and what they looked at."""

    at: str
    host: str
    command: str
    steps: tuple[CheckStep, ...]

    @property
    def has_failed(self) -> bool:
        """Whether something failed; what is odd or could not be checked did not."""
        return any(step.verdict is CheckVerdict.FAILED for step in self.steps)

    def summary(self) -> str:
        """How many findings have each verdict, as a sentence."""
        verdicts = [one.verdict for step in self.steps for one in step.findings]
        counts = (f"{verdicts.count(one)} {one}" for one in reversed(_ORDER) if one in verdicts)
        return f"{capitalized(', '.join(counts))}."

    def as_json(self) -> str:
        """Everything as JSON."""
        steps = [{**asdict(step), "verdict": step.verdict} for step in self.steps]
        return json.dumps({**asdict(self), "steps": steps}, ensure_ascii=False)


def passed(name: str, found: str, expected: str = "") -> CheckFinding:
    """A finding that is as expected."""
    return CheckFinding(name, CheckVerdict.PASSED, found, expected)


def odd(name: str, found: str, expected: str, cure: str) -> CheckFinding:
    """A finding that is not as expected, though runs may work."""
    return CheckFinding(name, CheckVerdict.ODD, found, expected, cure)


def failed_finding(name: str, found: str, expected: str, cure: str) -> CheckFinding:
    """A finding that makes runs fail, or their results wrong."""
    return CheckFinding(name, CheckVerdict.FAILED, found, expected, cure)


def unknown(name: str, why: str, cure: str = "") -> CheckFinding:
    """What could not be checked, and why."""
    return CheckFinding(name, CheckVerdict.UNKNOWN, why, "", cure)


_TABLE = Path(__file__).with_suffix(".yaml")
What = Literal[
    "latency", "latency with launch", "bandwidth", "bandwidth without NVLS",
    "bandwidth of two nodes", "bf16 product", "tf32 product", "fp32 product", "copy",
    "speedup of attention", "NVLinks", "NVLink",
]  # fmt: skip


class Expectation(FrozenModel):
    """From *least* to *most*, in *unit*, is expected of a GPU whose name has the pattern *gpu*.

    Beyond *fails_below* or *fails_above* something is wrong. *low* and *high* are the cures of
    numbers outside of the range, *impossible* that of numbers above *fails_above*. With *ranks*,
    it holds for that number of them.
    """

    what: What
    gpu: re.Pattern[str]
    ranks: int = 0
    least: float
    most: float = Field(default=float("inf"))
    unit: str = ""
    fails_below: float = 0.0
    fails_above: float = Field(default=float("inf"))
    low: str = ""
    high: str = ""
    impossible: str = ""
    source: str

    def shown(self) -> str:
        """The range in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.most == float("inf"):
            return f"{self.least:g}{unit} or more"
        if self.least == self.most:
            return f"{self.least:g}{unit}"
        return f"{self.least:g} to {self.most:g}{unit}"

    def verdict_on(self, number: float) -> CheckVerdict:
        """How *number*, in its unit, compares with the range."""
        if number < self.fails_below or number > self.fails_above:
            return CheckVerdict.FAILED
        return CheckVerdict.PASSED if self.least <= number <= self.most else CheckVerdict.ODD


class _Table(FrozenModel):
    status: str
    numbers: tuple[Expectation, ...]


@cache
def _table() -> _Table:
    return _Table.model_validate(read_document(_TABLE).values)


def status() -> str:
    """What the expectations are worth, as a sentence."""
    return _table().status


def expectation(what: What, gpu: str, ranks: int = 0) -> Expectation | None:
    """What is expected of the GPU called *gpu*; None if nothing is known of it."""
    for one in _table().numbers:
        if one.what == what and one.gpu.search(gpu) and one.ranks in (0, ranks):
            return one
    return None


def compare_expected(name: str, value: float, unit: str, what: What, gpu: str, ranks: int = 0) -> CheckFinding:
    """*value*, in the base unit of *unit*, against what is expected of the GPU called *gpu*."""
    scale = scale_of(unit)
    shown = show_in(value, scale, 3)
    one = expectation(what, gpu, ranks)
    if one is None:
        of = f"{ranks} × {gpu}" if ranks else gpu
        found = unknown(name, f"{shown}; what is usual for {of} is not known here")
        return replace(found, value=value, unit=unit)
    number = value / scale_of(one.unit).factor
    cure = one.low if number < one.least else one.high
    if number > one.fails_above:
        cure = one.impossible or one.high
    return CheckFinding(name, one.verdict_on(number), shown, one.shown(), cure, one.source, value, unit)
