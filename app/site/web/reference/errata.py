"""/errata: wrong claims in circulation, with corrections computed by the formulas."""

from fastapi import Request, Response

from app.core.translation import translate
from app.course.content.errata import erratum_called
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.renderer import frame, render
from app.site.web.reference.errata_view import view_of_errata, view_of_erratum

router = Router(prefix="/errata")


@router.get("")
def errata_list(request: Request, site: Here, chapter: str = "") -> Response:
    """Every erratum, or those of one chapter."""
    topic = site.catalog.topic(chapter) if chapter else None
    page = view_of_errata(site.catalog, topic)
    says = translate("Where well-known teaching material is wrong, and what is right, computed on this site.")
    return render("reference/errata.html", frame(request, translate("Errata"), says, "errata"), page)


@router.get("/{name}")
def erratum_page(request: Request, site: Here, name: str) -> Response:
    """One erratum, under an address of its own."""
    erratum = erratum_called(name)
    around = frame(
        request,
        translate("Your source says “{said}”: here is why", said=erratum.said),
        f"{erratum.title}. {erratum.right}",
        "errata",
    )
    return render("reference/erratum.html", around, view_of_erratum(site.catalog, erratum))
