"""`wallclock preview`: exercise files beside their pages, linted while one types."""

import asyncio
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.authoring.preview.workbench import AuthoringPreview, ChangedFileError, files_of, read_text, save_text, stamp_of
from app.authoring.starters import exercise_schema
from app.core.errors import InputError
from app.core.yaml_file import LARGEST
from app.site import Site
from app.site.web.frame.renderer import frame, render

_CHANGED = "another program, or another page, has changed the file since this page read it"


def preview_app(path: Path, site: Site, key: str, *, locked: bool = False) -> FastAPI:
    """The site, with /preview for the exercise files at *path*; the *key* lets a page edit them.

    If they are *locked*, it takes the key to read them, too.

    Raises:
        InputError: no exercise file was found.
    """
    preview = AuthoringPreview(files_of(path), site, key, locked=locked)
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

    @router.get("/text", dependencies=[Depends(preview.admit_reader)])
    def text(name: str = "") -> Response:
        found = read_text(preview.file(name))
        if found.trouble:
            return _routes_refusal(found.trouble)
        return Response(found.text, headers={"ETag": f'"{found.stamp}"'}, media_type="text/plain")

    @router.get("/schema")
    def schema() -> Response:
        return JSONResponse(exercise_schema())

    @router.get("/proof", dependencies=[Depends(preview.admit_reader)])
    async def proof(request: Request, name: str = "") -> Response:
        found = await preview.stored_proof(name)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    return router


def _writing_routes(preview: AuthoringPreview) -> APIRouter:
    """What only the page may send that has the key."""
    router = APIRouter(prefix="/preview", dependencies=[Depends(preview.admit)])

    @router.post("/draft")
    async def draft(request: Request, name: str = "", page: str = "") -> Response:
        found = await preview.proof(preview.file(name), await _text_of(request), page)
        return render("authoring/proof.html", frame(request, "Proof"), found)

    @router.put("/text")
    async def save(request: Request, name: str = "", if_match: Annotated[str, Header()] = "") -> Response:
        path, source = preview.file(name), await _text_of(request)
        return await asyncio.to_thread(_save, path, source, if_match.strip('"'))

    return router


def _save(path: Path, source: bytes, seen: str) -> Response:
    try:
        stamp = save_text(path, source.decode(), seen)
    except ChangedFileError:
        return _routes_refusal(_CHANGED, HTTPStatus.PRECONDITION_FAILED)
    except UnicodeDecodeError:
        return _routes_refusal("The text is not UTF-8.")
    except InputError as error:
        return _routes_refusal(str(error))
    return Response(stamp, media_type="text/plain")


def _routes_refusal(says: str, status: HTTPStatus = HTTPStatus.UNPROCESSABLE_ENTITY) -> Response:
    return Response(says, status, media_type="text/plain")


async def _text_of(request: Request) -> bytes:
    """The text that a page sends."""
    source = await request.body()
    if len(source) > LARGEST:
        says = f"the text has {len(source):,} bytes, and at most {LARGEST:,} are read"
        raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, says)
    return source
