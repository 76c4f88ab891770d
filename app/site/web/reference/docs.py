"""/docs: the documentation, from the Markdown files in app/docs."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import Request, Response
from markupsafe import Markup

import app
from app.core.errors import NotFoundError, nearest
from app.core.translation import translate
from app.server.network.routes import Router
from app.site.markdown import MarkdownDocument, document
from app.site.web.frame.renderer import frame, render

router = Router(prefix="/docs")
_FOLDER = Path(app.__file__).parent / "docs"
_SUFFIX, _INDEX = ".md", "README"
# Names of pages of the site, which the files cannot link: they are also read in the repository.
_PAGE = re.compile(r"<code>(/(?:api/docs|api/v1/openapi\.json|[a-z]+))</code>")


@cache
def documentation() -> dict[str, MarkdownDocument]:
    """Every page of the documentation, by its name."""
    files = sorted(_FOLDER.glob(f"*{_SUFFIX}"))
    return {file.stem: _read_docs(file) for file in files if file.stem != _INDEX}


@router.get("")
def docs_index(request: Request) -> Response:
    """The index of the documentation."""
    return _shown_docs(request, _read_docs(_FOLDER / f"{_INDEX}{_SUFFIX}"))


@router.get("/{name}")
def docs_page(request: Request, name: str) -> Response:
    """One page of the documentation."""
    known = documentation()
    if name not in known:
        raise NotFoundError(
            translate(
                "no page of the documentation is called {name!r}{near}", name=name[:80], near=nearest(name[:80], known)
            )
        )
    return _shown_docs(request, known[name])


def _shown_docs(request: Request, page: MarkdownDocument) -> Response:
    around = frame(request, page.title, page.summary.striptags(), "docs")
    return render("reference/doc.html", around, page)


@cache
def _read_docs(file: Path) -> MarkdownDocument:
    read = document(file.read_text(encoding="utf-8"), _linked)
    body = _PAGE.sub(r'<a href="\1"><code>\1</code></a>', str(read.body))
    return replace(read, body=Markup(body))  # our own files only


def _linked(address: str) -> str:
    """The address on the site of a link: that of a file in this folder is its page."""
    parts = urlsplit(address)
    if parts.scheme or not parts.path.endswith(_SUFFIX):
        return address
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f"/docs/{Path(parts.path).stem}{fragment}"
