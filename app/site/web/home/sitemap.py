"""/robots.txt and /sitemap.xml: what search engines may read, and where it is."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

from fastapi import Response

from app.core.errors import NotFoundError
from app.core.formulas import FORMULAS
from app.core.measurements.published import SAMPLES, published_logs, published_tests
from app.core.translation import translate
from app.course.content.errata import errata
from app.course.explorers import explorer_pages
from app.labs.spec import known_labs
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.measured.page import TRACES
from app.site.web.measured.views import ADDRESS as MEASURED
from app.site.web.reference.docs import documentation
from app.site.web.urls import chapter_url, erratum_url, exercise_url, explorer_url, formula_url, lab_url

_PAGES = (
    "/", "/placement", "/final", "/explore", "/labs", "/formulas", "/errata", "/glossary",
    "/hardware", "/reference", "/trust", MEASURED, "/scratch", "/authoring",
    "/authoring/units", "/docs", "/api/docs",
)  # fmt: skip
# Pages of one visitor, pages without an end, and what is for programs. ($: no more follows.)
_PRIVATE = (
    "/me$", "/me/", "/classes", "/assignments", "/join/", "/sign-", "/lti", "/progress", "/search",
    "/placement/", "/final/", "/api/v1/", "/metrics", "/*/another", "/*?*seed=",
)  # fmt: skip
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
router = Router()


@router.get("/robots.txt")
async def robots(site: Here) -> Response:
    """What is the same for everyone may be read; and where the list of pages is."""
    prefix, url = site.settings.prefix, site.settings.url
    lines = ["User-agent: *", *(f"Disallow: {prefix}{path}" for path in _PRIVATE)]
    lines += [f"Sitemap: {url}/sitemap.xml"] if url else []
    return Response("\n".join(lines) + "\n", media_type="text/plain")


@router.get("/sitemap.xml")
async def sitemap(site: Here) -> Response:
    """The addresses of the pages that are the same for everyone.

    Raises:
        NotFoundError: the server does not know its own address.
    """
    url = site.settings.url
    if not url:
        raise NotFoundError(translate("a sitemap needs the address of the site: set WALLCLOCK_URL"))
    found = "".join(f"<url><loc>{escape(url + path)}</loc></url>\n" for path in public_paths(site))
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{_NAMESPACE}">\n{found}</urlset>\n'
    return Response(text, media_type="application/xml")


def public_paths(site: Site) -> Iterator[str]:
    """The paths of the pages that are the same for everyone."""
    yield from _PAGES
    yield from (chapter_url(topic.id) for topic in site.catalog.topics)
    yield from (exercise_url(exercise.id) for exercise in site.catalog.exercises)
    yield from (explorer_url(one.name) for one in explorer_pages())
    yield from map(formula_url, FORMULAS)
    yield from (erratum_url(erratum.id) for erratum in errata())
    yield from map(lab_url, known_labs())
    yield from (f"{MEASURED}/{name}" for name in (*published_tests(), *published_logs()))
    yield from (f"{TRACES}/{sample.name}" for sample in SAMPLES)
    yield from (f"/docs/{name}" for name in documentation())
