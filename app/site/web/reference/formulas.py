"""/formulas: every formula, with a calculator for each."""

from urllib.parse import urlencode

from fastapi import Request, Response

from app.core.translation import translate
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.renderer import frame, render
from app.site.web.reference.formula_view import LONGEST_ARGUMENT, formula_called, formula_groups, formula_page
from app.site.web.urls import formula_url

router = Router(prefix="/formulas")


@router.get("")
def show_formulas(request: Request) -> Response:
    """All formulas."""
    says = translate("Every formula of the course, with its derivation, its source and a calculator.")
    around = frame(request, translate("Formulas"), says, "formulas")
    return render("reference/formulas.html", around, formula_groups())


@router.get("/{name}")
def show_formula(request: Request, site: Here, name: str) -> Response:
    """One formula, evaluated for the arguments in the address."""
    formula = formula_called(name)
    given = {k: v[:LONGEST_ARGUMENT] for k, v in request.query_params.items() if v.strip()}
    page = formula_page(site.catalog, formula, given)
    short = formula.name.partition(".")[2].replace("_", " ")
    calculated = {} if page.problem else {name: text for name, text in given.items() if name in formula.inputs}
    path = f"{formula_url(formula.name)}?{urlencode(calculated)}".rstrip("?")
    around = frame(request, short.capitalize(), page.documented.summary, "formulas", path)
    fragment = request.headers.get("x-fragment") == "1"
    return render("reference/calculation.html" if fragment else "reference/formula.html", around, page)
