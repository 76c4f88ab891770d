"""/errata: claims in circulation, and what is right, computed by the formulas."""

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response

from app.content.errata import DerivationLine, Erratum, errata
from app.formulas import FORMULAS
from app.site import Here, Site
from app.web.frame.rendering import Link, frame, render
from app.web.progress.standing import address_of

router = APIRouter()
_GROUPS = (
    ("A", "Answers that are wrong", "With these an answer key would be wrong."),
    ("B", "Claims that do not hold", "About systems, and about who made them and why."),
    ("C", "Conventions mixed", "Right for another question, or right if one says which."),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a derivation, with the formulas that are called in it."""

    worked: DerivationLine
    formulas: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An erratum, and the exercises that it touches."""

    erratum: Erratum
    rows: tuple[Row, ...]
    exercises: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Errata of one kind."""

    title: str
    says: str
    entries: tuple[Entry, ...]


@router.get("/errata")
async def page(request: Request, site: Here) -> Response:
    """All of them."""
    groups = tuple(
        Group(title, says, tuple(_entry(site, e) for e in errata() if e.severity == severity))
        for severity, title, says in _GROUPS
    )
    says = "Where well-known teaching material is wrong, and what is right, worked out on the spot."
    return render("errata.html", frame(request, "Errata", says, "errata"), groups)


def _entry(site: Site, erratum: Erratum) -> Entry:
    by_id = {exercise.id: exercise for exercise in site.catalog.exercises}
    known = [by_id[name] for name in erratum.exercises if name in by_id]
    return Entry(
        erratum,
        tuple(Row(row, tuple(_links(row))) for row in erratum.worked),
        tuple(Link(address_of(exercise), exercise.title) for exercise in known),
    )


def _links(row: DerivationLine) -> list[Link]:
    return [
        Link(f"/formulas/{name}", name.partition(".")[2])
        for name in row.formulas
        if name in FORMULAS
    ]
