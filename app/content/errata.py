"""The files of errata, read once; every number in their derivations is computed here and now."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from app.errors import ContentError, Problem
from app.expressions import ExpressionError, fill
from app.yaml_file import Document, read_document

Severity = Literal["A", "B", "C"]
_HERE = Path(__file__).parent / "data" / "errata"
_FILES: dict[Severity, str] = {
    "A": "answer_keys.yaml",
    "B": "claims.yaml",
    "C": "conventions.yaml",
}
_ROW = re.compile(r"(?P<says>.+?): (?P<expression>[^|]+?) \|(?: (?P<form>.*))?")
_FORMULA = re.compile(r"\b(?:[a-z_]+)\.(?:[a-z0-9_]+)(?=\()")


class _Entry(BaseModel):
    """An erratum as its file has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    claim: str
    right: str
    worked: tuple[str, ...]
    source: str
    exercises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worked:
    """A line of a derivation: what it is, the expression, and what that comes to."""

    says: str
    expression: str
    value: str

    @property
    def formulas(self) -> tuple[str, ...]:
        """The formulas that are called in it."""
        return tuple(dict.fromkeys(_FORMULA.findall(self.expression)))


@dataclass(frozen=True, slots=True)
class Erratum:
    """A claim in circulation, and what is right."""

    id: str
    severity: Severity
    title: str
    claim: str
    right: str
    worked: tuple[Worked, ...]
    source: str
    exercises: tuple[str, ...]


@cache
def errata() -> tuple[Erratum, ...]:
    """All of them, the gravest first.

    Raises:
        ContentError: a file cannot be read, or a derivation does not work out.
    """
    documents = [(severity, read_document(_HERE / name)) for severity, name in _FILES.items()]
    return tuple(
        _erratum(document, severity, key)
        for severity, document in documents
        for key in document.values
    )


def of_exercise(exercise: str) -> tuple[Erratum, ...]:
    """Those that touch the exercise with this id."""
    return tuple(erratum for erratum in errata() if exercise in erratum.exercises)


def _erratum(document: Document, severity: Severity, key: str) -> Erratum:
    try:
        entry = _Entry.model_validate(document.values[key])
    except ValidationError as error:
        found = error.errors()[0]
        raise ContentError([document.problem((key, *found["loc"]), found["msg"])]) from error
    worked = tuple(_worked(document, key, place, row) for place, row in enumerate(entry.worked))
    return Erratum(
        key, severity, entry.title, entry.claim.strip(), entry.right.strip(), worked,
        entry.source, entry.exercises,
    )  # fmt: skip


def _worked(document: Document, key: str, place: int, row: str) -> Worked:
    where = key, "worked", place
    match = _ROW.fullmatch(row)
    if match is None:
        says = f"{row!r} must read: what it is, a colon, an expression, a bar, a unit"
        raise ContentError([document.problem(where, says)])
    form = match["form"] or ""
    slot = f"{{{match['expression']} | {form}}}" if form else f"{{{match['expression']}}}"
    try:
        return Worked(match["says"], match["expression"], fill(slot, {}, {}))
    except ExpressionError as error:
        problem: Problem = document.problem(where, str(error))
        raise ContentError([problem]) from error
