"""The numbers that are expected of known GPUs."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from app.core.units import scale_of, show_in
from app.core.yaml_file import read_document
from app.labs.check.findings import CheckFinding, CheckVerdict, unknown
from app.labs.parameters import FrozenModel

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
