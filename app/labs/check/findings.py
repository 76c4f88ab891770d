"""What a step of the check found, and the report of all steps."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

from app.core.errors import capitalized


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
