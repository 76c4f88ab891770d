"""The pages of `wallclock preview`, and what their script asks for."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from secrets import compare_digest, token_hex
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.aside import let_pay
from app.authoring.lint import Linted
from app.authoring.preview.drafts import SEEDS, Drafts, Proof
from app.authoring.preview.files import FileText, files_of, read_text, stamp_of
from app.authoring.preview.thread_runs import LatestWork, SupersededError
from app.authoring.preview.writer import ChangedFileError, save_text
from app.authoring.schemas import exercise_schema
from app.content.files import topic_of
from app.errors import ContentError, InputError, NotFoundError
from app.main import create_app
from app.sandbox.runner import Runner
from app.site import Site
from app.web.frame.origin import from_here
from app.web.frame.renderer import Hyperlink, frame, render
from app.yaml_file import LARGEST, read_bytes

_NO_KEY = "open the address that `wallclock preview` has printed: it has the key of this page"
_CHANGED = "another program, or another page, has changed the file since this page read it"
_SUPERSEDED = "a later text of this page is being checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewPage:
    """A file beside its exercise, and links to the other files."""

    name: str
    path: str
    file: FileText
    shown: bool
    drawings: tuple[Hyperlink, ...]
    others: tuple[Hyperlink, ...]


class AuthoringPreview:
    """The files that are edited, and the site that shows them."""

    def __init__(self, files: Mapping[str, Path], site: Site, key: str) -> None:
        """Only who knows the *key* may send texts."""
        self.app = create_app(site=site, framed=True)
        self.drafts = Drafts(self.app)
        self._files = files
        self._runner = site.runner
        self._latest = LatestWork(site.runner)
        self._key = key

    def file(self, name: str) -> Path:
        """The file called *name*, or the first one if *name* is empty.

        Raises:
            NotFoundError: there is no such file.
        """
        chosen = name or next(iter(self._files))
        if chosen not in self._files:
            raise NotFoundError(f"no file here is called {chosen[:80]!r}")
        return self._files[chosen]

    def page(self, name: str) -> PreviewPage:
        """The page of a file, whose exercise is shown as it is stored."""
        path = self.file(name)
        address = f"/exercises/{topic_of(path)}/{path.stem}"
        return PreviewPage(
            name=path.stem,
            path=str(path),
            file=read_text(path),
            shown=self._is_shown(path),
            drawings=tuple(
                Hyperlink(f"{address}?seed={seed}", f"Variant {seed}") for seed in SEEDS
            ),
            others=tuple(Hyperlink(f"/preview?name={other}", other) for other in self._files),
        )

    async def proof(self, name: str, source: bytes, page: str) -> Proof:
        """The proof of *source* in place of the file called *name*.

        Raises:
            SupersededError: a later text of the same *page* is proven in its place.
        """
        path = self.file(name)
        await self._runner.ready()

        async def work(runner: Runner) -> Proof:
            return await self.drafts.prove(path, source, runner)

        return await self._latest.result(page, work)

    async def stored_proof(self, name: str) -> Proof:
        """The proof of the file called *name*."""
        try:
            source = read_bytes(self.file(name))
        except ContentError as error:
            return Proof(Linted(1, error.problems, ()), (), shown=False)
        return await self.proof(name, source, token_hex(8))

    async def admit(self, request: Request, x_preview_key: Annotated[str, Header()] = "") -> None:
        """Refuse what another site sends, and who does not have the key.

        Raises:
            HTTPException: 403.
        """
        await from_here(request)
        if not compare_digest(x_preview_key.encode(), self._key.encode()):
            raise HTTPException(HTTPStatus.FORBIDDEN, _NO_KEY)

    def _is_shown(self, path: Path) -> bool:
        try:
            return self.drafts.show(path, read_bytes(path))
        except ContentError:
            return False


def preview_app(path: Path, site: Site, key: str) -> FastAPI:
    """The site, with /preview for the exercise files at *path*; the *key* lets a page edit them.

    Raises:
        InputError: there is no exercise file.
    """
    preview = AuthoringPreview(files_of(path), site, key)
    for routes in (_reading_routes, _writing_routes):
        preview.app.include_router(routes(preview))
    return preview.app


def _reading_routes(preview: AuthoringPreview) -> APIRouter:
    router = APIRouter(prefix="/preview")

    @router.get("")
    def show(request: Request, name: str = "") -> Response:
        page = preview.page(name)
        around = replace(frame(request, f"Preview of {page.name}"), arrives=False)
        return render("authoring/preview.html", around, page)

    @router.get("/stamp")
    def stamp(name: str = "") -> Response:
        return Response(stamp_of(preview.file(name)), media_type="text/plain")

    @router.get("/text")
    def text(name: str = "") -> Response:
        found = read_text(preview.file(name))
        if found.trouble:
            return _refusal(found.trouble)
        return Response(found.text, headers={"ETag": f'"{found.stamp}"'}, media_type="text/plain")

    @router.get("/schema")
    def schema() -> Response:
        return JSONResponse(exercise_schema())

    @router.get("/proof")
    async def proof(request: Request, name: str = "") -> Response:
        found = await preview.stored_proof(name)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    return router


def _writing_routes(preview: AuthoringPreview) -> APIRouter:
    """What only the page may send that has the key."""
    router = APIRouter(prefix="/preview", dependencies=[Depends(preview.admit)])

    @router.post("/draft")
    async def draft(request: Request, name: str = "", page: str = "") -> Response:
        let_pay("")  # the author may type as long as they like
        source = await _text_of(request)
        try:
            found = await preview.proof(name, source, page)
        except SupersededError:
            raise HTTPException(HTTPStatus.CONFLICT, _SUPERSEDED) from None
        return render("authoring/proof.html", frame(request, "Proof"), found)

    @router.put("/text")
    async def save(
        request: Request, name: str = "", if_match: Annotated[str, Header()] = ""
    ) -> Response:
        let_pay("")
        path, source = preview.file(name), await _text_of(request)
        return await asyncio.to_thread(_save, path, source, if_match.strip('"'))

    return router


def _save(path: Path, source: bytes, seen: str) -> Response:
    try:
        stamp = save_text(path, source.decode(), seen)
    except ChangedFileError:
        return _refusal(_CHANGED, HTTPStatus.PRECONDITION_FAILED)
    except UnicodeDecodeError:
        return _refusal("The text is not UTF-8.")
    except InputError as error:
        return _refusal(str(error))
    return Response(stamp, media_type="text/plain")


def _refusal(says: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    return Response(says, status, media_type="text/plain")


async def _text_of(request: Request) -> bytes:
    """The text that a page sends.

    Raises:
        HTTPException: 413.
    """
    source = await request.body()
    if len(source) > LARGEST:
        says = f"the text has {len(source):,} bytes, and at most {LARGEST:,} are read"
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
    return source
