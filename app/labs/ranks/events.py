"""What ranks report: one JSON object per line of a run's `events.jsonl`.

Rank 0 writes these classes; the server reads the same ones back.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyEvent:
    """All ranks have met."""

    kind: Literal["ready"] = "ready"
    at: float
    world: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvent:
    """The data came out right, or wrong."""

    kind: Literal["check"] = "check"
    at: float
    name: str
    right: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureEvent:
    """Samples of one measure, in base units, and where they were taken."""

    kind: Literal["measure"] = "measure"
    at: float
    name: str
    samples: tuple[float, ...]
    where: Mapping[str, float | str]


def as_line(event: ReadyEvent | CheckEvent | MeasureEvent) -> str:
    """*event* as a line of the file."""
    return json.dumps(asdict(event)) + "\n"
