"""/errata: wrong claims with corrections; /glossary, the terms of the field; /trust, the published runs."""

from functools import cache

from fastapi import Request, Response
from markupsafe import Markup

from app.core.formulas import FORMULAS
from app.core.translation import language, noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.errata import Erratum, errata, erratum_called, meaning, terms
from app.server.network.routes import Router
from app.site import Here
from app.site.markdown import inline_html
from app.site.web.explore.figures import figure_file
from app.site.web.frame.renderer import Hyperlink, frame, markup, render
from app.site.web.reference.trust_view import ADDRESS, SAYS, TITLE, known_source, scatter_of, trust_page
from app.site.web.urls import chapter_url, erratum_url, exercise_url, formula_url

_GROUPS = (
    ("A", noted("Wrong answers"), noted("They would make an answer key wrong.")),
    ("B", noted("Claims that do not hold"), noted("About systems, their authors and their reasons.")),
    ("C", noted("Mixed conventions"), noted("Right for another question, or right once the convention is stated.")),
)


def _erratum_link(erratum: Erratum) -> Hyperlink:
    return Hyperlink(erratum_url(erratum.id), erratum.title)


def _topics(course: Catalog, erratum: Erratum) -> list[Topic]:
    """The chapters of the exercises that *erratum* concerns."""
    by_id = course.by_id
    known = (by_id[name] for name in erratum.exercises if name in by_id)
    return list({topic.id: topic for topic in map(course.topic_of, known)}.values())


router = Router()


@router.get("/errata")
def errata_list(request: Request, site: Here, chapter: str = "") -> Response:
    """Every erratum, or those of one chapter."""
    topic = site.catalog.topic(chapter) if chapter else None
    shown = [one for one in errata() if topic is None or topic in _topics(site.catalog, one)]
    groups = [  # by severity; an address ends with the name of its erratum
        (id, translate(title), translate(says), tuple(map(_erratum_link, those)))
        for id, title, says in _GROUPS
        if (those := [one for one in shown if one.severity == id])
    ]
    says = translate("Where well-known teaching material is wrong, and what is right, computed on this site.")
    around, of = frame(request, translate("Errata"), says, "errata"), topic.title if topic else ""
    return render("reference/errata.html", around, groups, chapter=of, count=len(shown))


@router.get("/errata/{name}")
def erratum_page(request: Request, site: Here, name: str) -> Response:
    """One erratum, under an address of its own."""
    erratum, every, by_id = erratum_called(name), errata(), site.catalog.by_id
    place = every.index(erratum)
    group = next(translate(title) for severity, title, _ in _GROUPS if severity == erratum.severity)
    rows = [
        (row, [Hyperlink(formula_url(one), one.partition(".")[2]) for one in row.formulas if one in FORMULAS])
        for row in erratum.worked
    ]
    around = frame(
        request,
        translate("Your source says “{said}”: here is why", said=erratum.said),
        f"{erratum.title}. {erratum.right}",
        "errata",
    )
    return render(
        "reference/erratum.html",
        around,
        erratum,
        group=Hyperlink(f"/errata#group-{erratum.severity}", group),
        rows=rows,  # each with the formulas that it calls
        exercises=[Hyperlink(exercise_url(one), by_id[one].title) for one in erratum.exercises if one in by_id],
        chapters=[Hyperlink(chapter_url(one.id), one.title) for one in _topics(site.catalog, erratum)],
        earlier=_erratum_link(every[place - 1]) if place else None,
        later=_erratum_link(every[place + 1]) if place + 1 < len(every) else None,
    )


@router.get("/glossary")
async def glossary(request: Request, site: Here) -> Response:
    """Every term."""
    chapters = {
        folder: Hyperlink(chapter_url(topic.id), topic.title)
        for topic in site.catalog.topics
        for folder in topic.folders
    }
    entries = [
        (key, term.term, inline_html(meaning(term)), chapters.get(term.chapter)) for key, term in terms().items()
    ]
    says = translate("The terms of distributed training, each in a sentence or two.")
    return render("reference/glossary.html", frame(request, translate("Glossary"), says), entries)


@router.get(ADDRESS)
def show_trust(request: Request, source: str = "") -> Response:
    """Every published run, or those of one source."""
    around = frame(request, translate(TITLE), translate(SAYS), "formulas")
    return render("reference/trust.html", around, _trust_content(language(), known_source(source)))


@cache
def _trust_content(code: str, source: str) -> Markup:
    """What the page shows in the language *code*: it changes with the version alone."""
    return markup("reference/trust_content.html", trust_page(code, source))


@router.get(ADDRESS + "/{number}.{form}")
def figure(number: int, form: str, source: str = "") -> Response:
    """The figure as a file."""
    return figure_file((scatter_of(known_source(source)),), number, form, "trust")
