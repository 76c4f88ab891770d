"""The checks of many nodes side by side: who failed, and who is slower than its like.

Healthy nodes differ: a node is off only on the slow side, beyond what is usual for such a number and beyond
four standard deviations of its like, and only if a second check says so too.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum

from pydantic import TypeAdapter, ValidationError

from app.core.units import scale_of, show_in
from app.labs.check.findings import CheckFinding, CheckReport, CheckVerdict

_FEWEST = 3  # nodes, from which on a median says which one is off
# How far healthy nodes may be off the median: times, products, speedups, and by default copies and bandwidths.
_USUAL: Mapping[str, float] = {"us": 0.25, "TFLOP/s": 0.06, "": 0.1}
_OTHERWISE = 0.03
_TIMES = ("us", "s")  # of which more is slower
_UNJUDGED = "with its launch"  # at the end of a name: the host's doing
_DEVIATIONS = 4.0
_OF_MEDIAN = 1.4826  # a standard deviation over the median of absolute deviations, where they are normal
_REPORT: TypeAdapter[CheckReport] = TypeAdapter(CheckReport)
_MARKS: Mapping[CheckVerdict, str] = {
    CheckVerdict.UNKNOWN: "-",
    CheckVerdict.PASSED: "ok",
    CheckVerdict.ODD: "odd",
    CheckVerdict.FAILED: "FAIL",
}


class NodeHealth(IntEnum):
    """The exit code of a node: what failed is worse than what is slow."""

    HEALTHY = 0
    FAILED = 1
    OUTLIER = 3  # argparse exits with 2


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """The check of *node*, or the *trouble* that left it without a report."""

    node: str
    report: CheckReport | None
    trouble: str = ""

    @property
    def findings(self) -> Sequence[CheckFinding]:
        """Everything that was found, in the order of the steps."""
        return [one for step in (self.report.steps if self.report else ()) for one in step.findings]

    @property
    def gpus(self) -> str:
        """Its GPUs and their driver, in words: nodes with the same ones are compared."""
        return next((one.found for one in self.findings if one.name == "GPUs"), "")

    @property
    def numbers(self) -> Mapping[str, CheckFinding]:
        """What was measured, by name."""
        return {one.name: one for one in self.findings if one.value is not None}


@dataclass(frozen=True, slots=True)
class NodeOutlier:
    """A number called *name* of *node*, and the *median* of the nodes with the same GPUs."""

    node: str
    name: str
    value: float
    unit: str
    median: float

    @property
    def share(self) -> float:
        """How far it is off the median, as a part of it."""
        return self.value / self.median - 1

    def __str__(self) -> str:
        scale, side = scale_of(self.unit), "below" if self.share < 0 else "above"
        return (
            f"{self.name}: {show_in(self.value, scale, 3)}, {abs(self.share):.1%} {side} the "
            f"median of {show_in(self.median, scale, 3)}"
        )


@dataclass(frozen=True, slots=True)
class NodeComparison:
    """All nodes, and the numbers that are off."""

    checks: tuple[NodeCheck, ...]
    outliers: tuple[NodeOutlier, ...]

    def health(self, check: NodeCheck) -> NodeHealth:
        """The exit code of the node of *check*; one without a report has failed."""
        if check.report is None or check.report.has_failed:
            return NodeHealth.FAILED
        is_off = any(one.node == check.node for one in self.outliers)
        return NodeHealth.OUTLIER if is_off else NodeHealth.HEALTHY

    @property
    def worst(self) -> NodeHealth:
        """The exit code of all nodes together."""
        found = {self.health(one) for one in self.checks}
        worst_first = (NodeHealth.FAILED, NodeHealth.OUTLIER)
        return next((one for one in worst_first if one in found), NodeHealth.HEALTHY)

    def rows(self) -> Sequence[Sequence[str]]:
        """A header, then a row per node: its exit code, each step, and each number."""
        steps = {step.number: None for one in self.checks if one.report for step in one.report.steps}
        names = {name: None for one in self.checks for name in one.numbers}
        header = ["node", "exit", *map(str, steps), *names]
        return [header, *(self._row(one, [*steps], [*names]) for one in self.checks)]

    def remarks(self) -> Iterator[str]:
        """What failed, what is odd and what is off, a line each."""
        for check in self.checks:
            if check.trouble:
                yield f"{check.node}: not checked: {check.trouble}"
            for one in check.findings:
                if one.verdict in (CheckVerdict.FAILED, CheckVerdict.ODD):
                    expected = f"; expected: {one.expected}" if one.expected else ""
                    yield f"{check.node}: {one.verdict}: {one.name}: {one.found}{expected}"
            yield from (f"{one.node}: {one}" for one in self.outliers if one.node == check.node)

    def as_json(self, command: str) -> str:
        """Everything as JSON, with the *command* that checked the nodes."""
        nodes = [
            {
                "node": one.node,
                "exit_code": self.health(one),
                "trouble": one.trouble,
                "report": json.loads(one.report.as_json()) if one.report else None,
            }
            for one in self.checks
        ]
        found = {"command": command, "exit_code": self.worst, "nodes": nodes}
        return json.dumps({**found, "outliers": [asdict(one) for one in self.outliers]})

    def _row(self, check: NodeCheck, steps: Sequence[int], names: Sequence[str]) -> Sequence[str]:
        taken = {one.number: _MARKS[one.verdict] for one in check.report.steps} if check.report else {}
        off = {one.name: one.share for one in self.outliers if one.node == check.node}
        numbers = check.numbers
        cells = (_number(numbers[name], off.get(name)) if name in numbers else "" for name in names)
        marks = (taken.get(number, "") for number in steps)
        return [check.node, str(int(self.health(check))), *marks, *cells]


def confirmed(first: NodeComparison, again: Sequence[NodeCheck]) -> NodeComparison:
    """The nodes of *first*, with what is off in the second check of some nodes, too."""
    later = {one.node: one for one in again}
    second = compare_nodes([later.get(one.node, one) for one in first.checks])
    off = {(one.node, one.name) for one in first.outliers}
    return NodeComparison(second.checks, tuple(one for one in second.outliers if (one.node, one.name) in off))


def compare_nodes(checks: Sequence[NodeCheck]) -> NodeComparison:
    """The nodes of *checks* side by side."""
    of_a_kind: dict[tuple[str, str, str], list[tuple[str, float]]] = {}
    for check in checks:
        for name, one in check.numbers.items():
            values = of_a_kind.setdefault((check.gpus, name, one.unit), [])
            values.append((check.node, one.value or 0.0))
    found = [
        NodeOutlier(node, name, value, unit, median)
        for (_, name, unit), values in of_a_kind.items()
        if len(values) >= _FEWEST and not name.endswith(_UNJUDGED)
        if (median := statistics.median(value for _, value in values))
        for limit in [_limit([value / median for _, value in values], unit)]
        for node, value in values
        if _slowness(value / median, unit) > limit
    ]
    return NodeComparison(tuple(checks), tuple(found))


def _limit(shares: Sequence[float], unit: str) -> float:
    """How much slower than the median a node may be, where all have these *shares* of it."""
    deviation = _OF_MEDIAN * statistics.median(abs(one - 1) for one in shares)
    return max(_USUAL.get(unit, _OTHERWISE), _DEVIATIONS * deviation)


def _slowness(share: float, unit: str) -> float:
    """How much slower than the median it is to have that *share* of it; negative if it is faster."""
    return share - 1 if unit in _TIMES else 1 - share


def read_node_check(node: str, text: bytes, otherwise: str) -> NodeCheck:
    """The check of *node* that was printed as *text*; *otherwise* says why there is none."""
    try:
        return NodeCheck(node, _REPORT.validate_json(text))
    except ValidationError:
        return NodeCheck(node, None, otherwise)


def _number(finding: CheckFinding, share: float | None) -> str:
    shown = show_in(finding.value or 0.0, scale_of(finding.unit), 3)
    return shown if share is None else f"{shown} ({share:+.1%})"
