"""The pages of an exported course: the site that makes them, which there are, and what each looks like as a file."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from posixpath import relpath
from tempfile import TemporaryDirectory

import httpx2
from fastapi import Request, Response

from app.core.errors import UnavailableError
from app.course.content.catalog import Catalog
from app.course.sandbox.pool import SandboxHealth
from app.course.sandbox.runner import Runner
from app.exporting.course_contents import SERVER, TROUBLE
from app.exporting.omissions import ExportedPages, addresses_in, file_path, rewrite_addresses, without_unserved
from app.main import create_app, create_site
from app.server.config import Settings
from app.server.network.routes import Router
from app.site.labs.queue import Dispatcher
from app.site.web.frame.assets import asset_url
from app.site.web.frame.renderer import frame, render

GetPage = Callable[[str], httpx2.Response]  # of a path

_SAYS = "What an exported course leaves to a server, and how to run one."
router = Router()


@router.get(SERVER)
async def show_server_page(request: Request) -> Response:
    """What needs a server, and how to run one."""
    return render("exported/server.html", frame(request, "This needs a server", _SAYS), None)


class _Ready(Runner):
    """Programs can run: not here, but in the browser."""

    @property
    def health(self) -> SandboxHealth:
        """Always ready."""
        return SandboxHealth("ready", "")


class _ServerDispatcher(Dispatcher):
    """Labs run on a server."""

    @property
    def trouble(self) -> str:
        """Why they cannot run here."""
        return TROUBLE


@contextmanager
def exported_site(settings: Settings) -> Iterator[tuple[Catalog, GetPage]]:
    """The course of *settings*, and what asks its site for a page, without a server and with an empty database.

    Raises:
        ContentError: an exercise file is not valid.
    """
    with TemporaryDirectory() as folder:
        inside = settings.model_copy(
            update={
                "database": f"sqlite:///{folder}/empty.db",
                "runs": Path(folder) / "runs",
                "lab_queue": 0,
                "processor_allowed": 0,
                "url": "",  # it may lie anywhere
                "root_path": "",
                "metrics": "",
                "access_log": False,
            }
        )
        site = create_site(inside)
        app = create_app(inside, replace(site, runner=_Ready(inside), labs=_ServerDispatcher(inside, site.engine)))
        app.router.routes.extend(router.routes)
        transport = httpx2.ASGITransport(app, client=("export", 0))
        visitor = httpx2.AsyncClient(
            transport=transport,
            base_url="http://export",
            headers={"Sec-Fetch-Site": "same-origin", "Accept-Encoding": ""},
        )
        with asyncio.Runner() as runner:
            yield site.catalog, lambda path: runner.run(visitor.get(path))
        site.engine.dispose()


_STARTS = ("/", SERVER, "/search", "/scratch", "/progress")
# What is exported, as far as pages lead there; the rest of the site needs a server.
_INSIDE = re.compile(
    r"/(?:chapters/[^/]+|exercises/[^/]+/[^/]+|explore(?:/[^/]+)?|formulas(?:/[^/]+)?"
    r"|errata(?:/[^/]+)?|labs(?:/[^/]+){0,2}|docs(?:/[^/]+)?|glossary|hardware|trust|authoring(?:/units)?"
    r"|reference"
    r"|search|scratch|progress)?"
)
_LEFT_OUT = re.compile(r"/exercises/[^/]+/[^/]+/another|/labs/[^/]+/board|\A.*\.(?:svg|csv|png|json)")
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


def crawl_pages(get: GetPage) -> Iterator[Page]:
    """Every page that is exported, as *get* gets it.

    Raises:
        UnavailableError: a page cannot be made.
    """
    waiting, seen = list(_STARTS), set(_STARTS)
    while waiting:
        path = waiting.pop()
        answer = get(path)
        if answer.status_code == 307:  # noqa: PLR2004 (an exercise that is on no list: its own page still opens by a drawing)
            answer = get(f"{path}?seed=0")
        if answer.status_code != 200 or "html" not in answer.headers["content-type"]:  # noqa: PLR2004
            raise UnavailableError(f"the page {path} cannot be exported: status {answer.status_code}")
        yield Page(path, answer.text)
        for found in addresses_in(answer.text):
            other = found.partition("#")[0].partition("?")[0]
            if other not in seen and _INSIDE.fullmatch(other) and not _LEFT_OUT.fullmatch(other):
                seen.add(other)
                waiting.append(other)


def as_file(page: Page, *, pages: Collection[str], core: Mapping[str, str], scripts: str) -> str:
    """*page* as a file with relative addresses, whose worker starts from *core*, with the folder of *scripts*."""
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
