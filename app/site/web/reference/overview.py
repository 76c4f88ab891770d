"""/reference: everything beside the course, on one page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fastapi import Request, Response

from app.core.translation import noted, translate
from app.server.network.routes import Router
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.reference.site_pages import SITE_PAGES

router = Router()
ADDRESS = "/reference"
_GROUPS: Sequence[tuple[str, tuple[str, ...]]] = (
    (noted("Look up"), ("/formulas", "/glossary", "/hardware", "/errata", "/trust", "/search")),
    (noted("Find your way"), ("/map", "/placement", "/final")),
    (noted("Your own files"), ("/measured", "/measured/traces")),
    (noted("Teach and extend"), ("/classes", "/authoring", "/docs", "/api/docs")),
)


@dataclass(frozen=True, slots=True)
class ReferenceGroup:
    """Pages under a heading, each with a sentence."""

    title: str
    links: tuple[tuple[Hyperlink, str], ...]


@router.get(ADDRESS)
def show_reference(request: Request) -> Response:
    """Every page beside the course."""
    says = translate("Everything beside the course: to look up, to find your way, to teach with.")
    around = frame(request, translate("Reference"), says, "reference")
    return render("reference/overview.html", around, tuple(_groups()))


def _groups() -> Iterator[ReferenceGroup]:
    known = {href: (title, says) for title, href, says in SITE_PAGES}
    for title, addresses in _GROUPS:
        links = tuple((Hyperlink(href, translate(known[href][0])), translate(known[href][1])) for href in addresses)
        yield ReferenceGroup(translate(title), links)
