"""/errata: wrong claims in circulation, with corrections computed by the formulas."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import Request, Response

from app.content.catalog import Topic
from app.content.errata import DerivationLine, Erratum, errata, erratum_called
from app.formulas import FORMULAS
from app.network.routes import Router
from app.site import Here, Site
from app.translation import noted, translate
from app.web.frame.preview import preview_of
from app.web.frame.rendering import Hyperlink, frame, render
from app.web.reference.cards import erratum_card
from app.web.urls import chapter_url, erratum_url, exercise_url, formula_url

router = Router(prefix="/errata")
_GROUPS = (
    ("A", noted("Wrong answers"), noted("They would make an answer key wrong.")),
    (
        "B",
        noted("Claims that do not hold"),
        noted("About systems, their authors and their reasons."),
    ),
    (
        "C",
        noted("Mixed conventions"),
        noted("Right for another question, or right once the convention is stated."),
    ),
)


@dataclass(frozen=True, slots=True)
class DerivationRow:
    """One line of a derivation, with the formulas that it calls."""

    worked: DerivationLine
    formulas: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True)
class ErratumEntry:
    """An erratum in the list, with the chapters that it concerns and an exercise on it."""

    erratum: Erratum
    href: str
    chapters: tuple[Hyperlink, ...]
    exercise: Hyperlink | None


@dataclass(frozen=True, slots=True)
class ErrataGroup:
    """The errata of one severity."""

    id: str
    title: str
    says: str
    entries: tuple[ErratumEntry, ...]


@dataclass(frozen=True, slots=True)
class ChapterFilter:
    """A chapter by which the list can be narrowed; *is_on*: it is."""

    link: Hyperlink
    count: int
    is_on: bool


@dataclass(frozen=True, slots=True)
class ErrataPage:
    """The errata, of one chapter if one is chosen, and the chapters to choose from."""

    groups: tuple[ErrataGroup, ...]
    filters: tuple[ChapterFilter, ...]
    chapter: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ErratumPage:
    """One erratum: its derivation, its exercises, and its neighbors."""

    erratum: Erratum
    group: Hyperlink
    rows: tuple[DerivationRow, ...]
    exercises: tuple[Hyperlink, ...]
    chapters: tuple[Hyperlink, ...]
    earlier: Hyperlink | None
    later: Hyperlink | None


@router.get("")
def errata_list(request: Request, site: Here, chapter: str = "") -> Response:
    """Every erratum, or those of one chapter."""
    topic = site.catalog.topic(chapter) if chapter else None
    shown = [one for one in errata() if topic is None or topic in _topics(site, one)]
    groups = (
        ErrataGroup(
            id,
            translate(title),
            translate(says),
            tuple(_entry(site, one) for one in shown if one.severity == id),
        )
        for id, title, says in _GROUPS
    )
    page = ErrataPage(
        tuple(group for group in groups if group.entries),
        tuple(_filters(site, topic)),
        topic.title if topic else "",
        len(shown),
    )
    says = translate(
        "Where well-known teaching material is wrong, and what is right, computed on this site."
    )
    return render(
        "reference/errata.html", frame(request, translate("Errata"), says, "errata"), page
    )


@router.get("/{name}")
def erratum_page(request: Request, site: Here, name: str) -> Response:
    """One erratum, under an address of its own."""
    erratum = erratum_called(name)
    around = frame(
        request,
        translate("Your source says “{said}”: here is why", said=erratum.said),
        f"{erratum.title}. {erratum.right}",
        "errata",
        preview_of(erratum_url(erratum.id), erratum_card(erratum)),
    )
    return render("reference/erratum.html", around, _page(site, erratum))


def _page(site: Site, erratum: Erratum) -> ErratumPage:
    every = errata()
    place = every.index(erratum)
    group = next(translate(title) for severity, title, _ in _GROUPS if severity == erratum.severity)
    return ErratumPage(
        erratum=erratum,
        group=Hyperlink(f"/errata#group-{erratum.severity}", group),
        rows=tuple(DerivationRow(row, tuple(_links(row))) for row in erratum.worked),
        exercises=tuple(_exercises(site, erratum)),
        chapters=_chapters(site, erratum),
        earlier=_neighbor(every[place - 1]) if place else None,
        later=_neighbor(every[place + 1]) if place + 1 < len(every) else None,
    )


def _neighbor(erratum: Erratum) -> Hyperlink:
    return Hyperlink(erratum_url(erratum.id), erratum.title)


def _entry(site: Site, erratum: Erratum) -> ErratumEntry:
    exercise = next(_exercises(site, erratum), None)
    return ErratumEntry(erratum, erratum_url(erratum.id), _chapters(site, erratum), exercise)


def _exercises(site: Site, erratum: Erratum) -> Iterator[Hyperlink]:
    by_id = site.catalog.by_id
    for name in erratum.exercises:
        if name in by_id:
            yield Hyperlink(exercise_url(name), by_id[name].title)


def _topics(site: Site, erratum: Erratum) -> list[Topic]:
    """The chapters of the exercises that *erratum* concerns."""
    by_id = site.catalog.by_id
    known = (by_id[name] for name in erratum.exercises if name in by_id)
    return list({topic.id: topic for topic in map(site.catalog.topic_of, known)}.values())


def _chapters(site: Site, erratum: Erratum) -> tuple[Hyperlink, ...]:
    return tuple(Hyperlink(chapter_url(one.id), one.title) for one in _topics(site, erratum))


def _filters(site: Site, chosen: Topic | None) -> Iterator[ChapterFilter]:
    """Each chapter that has errata."""
    counts = Counter(topic.id for one in errata() for topic in _topics(site, one))
    yield ChapterFilter(Hyperlink("/errata", "All"), len(errata()), chosen is None)
    for topic in site.catalog.topics:
        if count := counts[topic.id]:
            link = Hyperlink(f"/errata?chapter={topic.id}", topic.title)
            yield ChapterFilter(link, count, chosen is topic)


def _links(row: DerivationLine) -> list[Hyperlink]:
    return [
        Hyperlink(formula_url(name), name.partition(".")[2])
        for name in row.formulas
        if name in FORMULAS
    ]
