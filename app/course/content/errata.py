"""The errata, read once from their files; every number in a derivation is computed on reading."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.core.errors import ContentError, NotFoundError, Problem, nearest
from app.core.expressions import ExpressionError, fill
from app.core.translation import SOURCE, Numeral, speaking, translate
from app.core.yaml_file import YamlDocument, read_document
from app.course.content.refusals import refusal_of

Severity = Literal["A", "B", "C"]
_HERE = Path(__file__).parent / "data" / "errata"
_FILES: dict[Severity, str] = {"A": "answer_keys.yaml", "B": "claims.yaml", "C": "conventions.yaml"}
_ROW = re.compile(r"\A(?>(?P<says>.+?): )(?P<expression>[^|]+?) \|(?: (?P<form>.*))?")
_FORMULA = re.compile(r"\b(?:[a-z_]+)\.(?:[a-z0-9_]+)(?=\()")


Stripped = Annotated[str, StringConstraints(strip_whitespace=True)]


class _ErratumInFile(BaseModel):
    """An erratum, as written in its file."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    title: str
    said: str = Field(min_length=2, max_length=40)
    claim: Stripped
    right: Stripped
    worked: tuple[str, ...]
    source: str
    exercises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DerivationLine:
    """A line of a derivation: a description, an expression, and its value."""

    says: str
    expression: str
    value: str

    @property
    def formulas(self) -> tuple[str, ...]:
        """The formulas that the expression calls."""
        return tuple(dict.fromkeys(_FORMULA.findall(self.expression)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """A wrong or misleading claim in circulation, its words in short, and the correction."""

    id: str
    severity: Severity
    title: str
    said: str
    claim: str
    right: str
    worked: tuple[DerivationLine, ...]
    source: str
    exercises: tuple[str, ...]


@cache
def errata() -> tuple[Erratum, ...]:
    """All errata, the most severe first.

    Raises:
        ContentError: a file cannot be read, or a derivation cannot be evaluated.
    """
    documents = [(severity, read_document(_HERE / name)) for severity, name in _FILES.items()]
    return tuple(_erratum(document, severity, key) for severity, document in documents for key in document.values)


def erratum_called(name: str) -> Erratum:
    """The erratum with the id *name*, such as E-01.

    Raises:
        NotFoundError: there is none; the message offers the nearest.
    """
    known = {erratum.id: erratum for erratum in errata()}
    found = known.get(name.upper())
    if found is None:
        raise NotFoundError(
            translate("no erratum is called {name!r}{near}", name=name[:40], near=nearest(name[:40].upper(), known))
        )
    return found


def errata_of(exercise: str) -> tuple[Erratum, ...]:
    """The errata that concern the exercise with this id."""
    return tuple(erratum for erratum in errata() if exercise in erratum.exercises)


def _erratum(document: YamlDocument, severity: Severity, key: str) -> Erratum:
    try:
        entry = _ErratumInFile.model_validate(document.values[key])
    except ValidationError as error:
        raise refusal_of(document, error, _ErratumInFile, (key,)) from error
    worked = tuple(_errata_line(document, key, index, row) for index, row in enumerate(entry.worked))
    return Erratum(id=key, severity=severity, **{**entry.model_dump(), "worked": worked})


def _errata_line(document: YamlDocument, key: str, index: int, row: str) -> DerivationLine:
    where = key, "worked", index
    match = _ROW.fullmatch(row)
    if match is None:
        says = f"{row!r} must have the form: description, colon, expression, bar, unit"
        raise ContentError([document.problem(where, says)])
    form = match["form"] or ""
    slot = f"{{{match['expression']} | {form}}}" if form else f"{{{match['expression']}}}"
    try:
        with speaking(SOURCE):  # it is read once, for every language
            value = Numeral(fill(slot, {}, {}))
        return DerivationLine(match["says"], match["expression"], value)
    except ExpressionError as error:
        problem: Problem = document.problem(where, str(error))
        raise ContentError([problem]) from error
