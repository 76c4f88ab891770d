"""/errata: wrong claims in circulation, with corrections computed by the formulas."""

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app.content.errata import DerivationLine, Erratum, errata
from app.formulas import FORMULAS
from app.site import Here, Site
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.urls import exercise_url, formula_url

router = APIRouter()
_GROUPS = (
    ("A", "Wrong answers", "They would make an answer key wrong."),
    ("B", "Claims that do not hold", "About systems, their authors and their reasons."),
    (
        "C",
        "Mixed conventions",
        "Right for another question, or right once the convention is stated.",
    ),
)


@dataclass(frozen=True, slots=True)
class DerivationRow:
    """One line of a derivation, with the formulas that it calls."""

    worked: DerivationLine
    formulas: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True)
class ErratumEntry:
    """An erratum with its derivation and its exercises."""

    erratum: Erratum
    rows: tuple[DerivationRow, ...]
    exercises: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True)
class ErrataGroup:
    """The errata of one severity."""

    title: str
    says: str
    entries: tuple[ErratumEntry, ...]


@router.get("/errata")
async def page(request: Request, site: Here) -> Response:
    """Every erratum."""
    groups = tuple(
        ErrataGroup(title, says, tuple(_entry(site, e) for e in errata() if e.severity == severity))
        for severity, title, says in _GROUPS
    )
    says = "Where well-known teaching material is wrong, and what is right, computed on this page."
    return render("reference/errata.html", frame(request, "Errata", says, "errata"), groups)


def _entry(site: Site, erratum: Erratum) -> ErratumEntry:
    by_id = {exercise.id: exercise for exercise in site.catalog.exercises}
    known = [by_id[name] for name in erratum.exercises if name in by_id]
    return ErratumEntry(
        erratum,
        tuple(DerivationRow(row, tuple(_links(row))) for row in erratum.worked),
        tuple(Hyperlink(exercise_url(exercise.id), exercise.title) for exercise in known),
    )


def _links(row: DerivationLine) -> list[Hyperlink]:
    return [
        Hyperlink(formula_url(name), name.partition(".")[2])
        for name in row.formulas
        if name in FORMULAS
    ]
