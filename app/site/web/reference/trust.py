"""/trust: published runs, what the formulas say of them, and how far that is from the truth."""

from fastapi import Request, Response

from app.core.translation import language, translate
from app.server.network.routes import Router
from app.site.web.explore.figures import figure_file
from app.site.web.frame.renderer import frame, render
from app.site.web.reference.trust_view import ADDRESS, SAYS, TITLE, known_source, scatter_of, trust_page

router = Router()


@router.get(ADDRESS)
def show_trust(request: Request, source: str = "") -> Response:
    """Every published run, or those of one source."""
    around = frame(request, translate(TITLE), translate(SAYS), "formulas")
    return render("reference/trust.html", around, trust_page(language(), known_source(source)))


@router.get(ADDRESS + "/{number}.{form}")
def figure(number: int, form: str, source: str = "") -> Response:
    """The figure as a file."""
    return figure_file((scatter_of(known_source(source)),), number, form, "trust")
