"""The pages of an exported course: which there are, and what each looks like as a file."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from posixpath import relpath

from app.core.errors import UnavailableError
from app.exporting.course_contents import SERVER
from app.exporting.omissions import ExportedPages, addresses_in, file_path, rewrite_addresses, without_unserved
from app.exporting.site import ExportedSite, SiteResponse
from app.site.web.frame.assets import asset_url

_STARTS = ("/", SERVER, "/search", "/scratch", "/progress")
# What is exported, as far as pages lead there; the rest of the site needs a server.
_INSIDE = re.compile(
    r"/(?:chapters/[^/]+|exercises/[^/]+/[^/]+|explore(?:/[^/]+)?|formulas(?:/[^/]+)?"
    r"|errata(?:/[^/]+)?|labs(?:/[^/]+){0,2}|docs(?:/[^/]+)?|glossary|hardware|trust|authoring(?:/units)?"
    r"|reference"
    r"|search|scratch|progress)?"
)
_LEFT_OUT = re.compile(r"/exercises/[^/]+/[^/]+/another|\A.*\.(?:svg|csv|png|json)")
_APP = '<script type="module" src="/static/app.'
_SCRIPT = re.compile(rf'{_APP}[^"]+"></script>')
_LATER = re.compile(r'<script type="module" src="(/static/[^"]+)"></script>')
# A choice that a cookie keeps: an export has one language.
_CHOICES = re.compile(r'<form[^>]* action="/language".*?</form>', re.DOTALL)
_NONCE = re.compile(r'<meta name="style-nonce" content="([^"]*)">')
_MAIN = '<main id="main" class="page">'
_NO_SCRIPTS = (
    '<noscript><p class="feedback notice">Without JavaScript, this page can be read; nothing on it '
    "is computed or checked.</p></noscript>"
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{}'; style-src-attr "
    "'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'"
)
# Pages that the browser makes again once a learner has done something; the last, always.
_MARKED = re.compile(r"/(?:chapters/.*|exercises/.*)?")
_ALWAYS = ("/progress",)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the site, as the server sends it."""

    path: str
    html: str


def crawl_pages(site: ExportedSite) -> Iterator[Page]:
    """Every page of *site* that is exported.

    Raises:
        UnavailableError: a page cannot be made.
    """
    waiting, seen = list(_STARTS), set(_STARTS)
    while waiting:
        path = waiting.pop()
        answer = site.page(path)
        if answer.status == 307:  # noqa: PLR2004 (an exercise that is on no list: its own page still opens by a drawing)
            answer = site.page(f"{path}?seed=0")
        html = _html(path, answer)
        yield Page(path, html)
        for found in addresses_in(html):
            other = found.partition("#")[0].partition("?")[0]
            if other not in seen and _INSIDE.fullmatch(other) and not _LEFT_OUT.fullmatch(other):
                seen.add(other)
                waiting.append(other)


def _html(path: str, answer: SiteResponse) -> str:
    if answer.status != 200 or "html" not in answer.type:  # noqa: PLR2004
        raise UnavailableError(f"the page {path} cannot be exported: status {answer.status}")
    return answer.body.decode()


def as_file(page: Page, *, pages: Collection[str], core: Mapping[str, str], scripts: str) -> str:
    """*page* as a file: its addresses are relative, and a worker answers in a server's place.

    *core* names the files that the worker starts from, *scripts* the folder of the scripts.
    """
    here = file_path(page.path)
    known = ExportedPages(pages, SERVER)

    def relative(address: str) -> str:
        found = known.placed(address)
        path, mark, rest = re.split(r"([?#]|$)", found, maxsplit=1)
        near = relpath(path, here if here.endswith("/") else "/")
        near = f"{near}/" if path.endswith("/") and not near.endswith("/") else near
        return f"{near}{mark}{rest}"

    whole = _CHOICES.sub("", page.html)
    html = without_unserved(whole, known.serves, prose=not page.path.startswith("/docs"))
    html = _with_worker(html, page.path, core, scripts)
    return rewrite_addresses(html, relative)


def _with_worker(html: str, path: str, core: Mapping[str, str], folder: str) -> str:
    """*html*, the page at *path*, with the scripts that ask the worker, and a policy of its own."""
    nonce = _NONCE.search(html)
    policy = _POLICY.format(nonce[1] if nonce else "")
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    marks = " data-marks" if _MARKED.fullmatch(path) else ""
    marks += " data-always" if path in _ALWAYS else ""
    files = json.dumps(dict(core)).replace('"', "&quot;")
    scripts = (
        f'<link rel="manifest" href="/course/manifest.webmanifest">\n'
        f'<script src="/course/{folder}/theme.js"></script>\n'
        f'<script type="module" src="/course/{folder}/page.js" data-app="{asset_url("app.js")}"'
        f' data-files="{files}"{marks}></script>'
    )
    html = _SCRIPT.sub(lambda _: scripts, html)
    # They begin once page.js has put on the page what belongs to its address.
    html = _LATER.sub(r'<link rel="modulepreload" href="\1" data-later>', html)
    html = html.replace('<meta name="viewport"', f'{head}<meta name="viewport"', 1)
    return html.replace(_MAIN, _MAIN + _NO_SCRIPTS, 1) if "<form" in html else html
