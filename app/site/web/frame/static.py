"""Files, images, error pages, and what works without a script."""

import hashlib
import re
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from app.core.errors import AppError, NotFoundError, UnavailableError, sentence
from app.core.quotation import shorten
from app.core.translation import LANGUAGES, noted, translate
from app.course.content.images import read_image
from app.server.network.head import COOKIE, VISIT, without_language
from app.server.network.routes import Router
from app.server.network.watch import request_id
from app.site import Here, status_of
from app.site.web.frame.assets import Asset, asset_url, assets, by_hashed_name
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import THEME, FromHere, ReplacedHostError
from app.site.web.urls import path_inside

_TITLES = {
    400: noted("Not accepted"),
    403: noted("Not from here"),
    404: noted("Not found"),
    405: noted("Not allowed"),
    413: noted("Too large"),
    414: noted("Too long"),
    415: noted("Not supported"),
    421: noted("Not the name of this server"),
    422: noted("That did not work"),
    429: noted("Too many requests"),
    431: noted("Too large"),
    500: noted("Server error"),
    503: noted("Temporarily unavailable"),
}
_NO_PAGE = noted("The page {path} does not exist.")
_NO_METHOD = noted("The page {path} cannot be requested in this way.")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 60  # characters
_FAULT = noted("The server failed and wrote the error to its log, under request {request}.")
_LOST_NOTHING = noted("Nothing was lost.")
_PERHAPS_LOST = noted("What you sent may not have been stored: look at Progress, and send it again if it is missing.")


def page_for(request: Request, error: Exception) -> Response:
    """The page for a request that failed with *error*."""
    status = status_of(error)
    says = shorten(_says(request, error, status))
    lines = error.lines if isinstance(error, ReplacedHostError) else ""  # for the proxy's operator
    title = translate(_TITLES.get(status) or HTTPStatus(status).phrase)
    last = request.url.path.rstrip("/").rpartition("/")[2]
    is_sought = status == HTTPStatus.NOT_FOUND and not last.isdigit()  # a number alone is an id, which no search finds
    words = " ".join(_WORD.findall(last))[:_MOST_WORDS] if is_sought else ""
    response = render(
        "frame/trouble.html", frame(request, title), says, status, number=status, lines=lines, words=words
    )
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response


def _kept(request: Request) -> str:
    """Whether anything that was sent may be lost."""
    says = _LOST_NOTHING if request.method == "GET" else _PERHAPS_LOST
    return translate(says)


def _says(request: Request, error: Exception, status: int) -> str:
    if isinstance(error, HTTPException):
        if error.detail == HTTPStatus(status).phrase:
            return translate(_NO_PAGE if status == HTTPStatus.NOT_FOUND else _NO_METHOD, path=request.url.path)
        return sentence(str(error.detail))
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return f"{translate(_FAULT, request=request_id(request.scope))} {_kept(request)}"
    if isinstance(error, UnavailableError):
        return f"{sentence(str(error))} {_kept(request)}"
    return sentence(str(error)) if isinstance(error, AppError) else translate("The form was not complete.")


_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer
router = Router()


@router.post("/language", dependencies=[FromHere])
async def choose_language(language: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
    """Store the choice and return to the page; with a language that is not offered, forget it.

    The language in the address of the page would go before the one that was chosen.
    """
    response = RedirectResponse(without_language(path_inside(back)) or "/", 303)
    response.delete_cookie(VISIT)
    if language in LANGUAGES:
        response.set_cookie(COOKIE, language, max_age=_AGE, samesite="lax")
    else:
        response.delete_cookie(COOKIE)
    return response


@router.post("/theme", dependencies=[FromHere])
async def choose_theme(theme: Annotated[str, Form()] = "", back: Annotated[str, Form()] = "/") -> Response:
    """Store the choice and return to the page."""
    response = RedirectResponse(path_inside(back) or "/", 303)
    if theme in ("light", "dark"):
        response.set_cookie(THEME, theme, max_age=_AGE, samesite="lax")
    else:
        response.delete_cookie(THEME)
    return response


_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


@router.get("/static/{name:path}")
async def static(request: Request, name: str) -> Response:
    """One file."""
    if asset := by_hashed_name().get(name):
        return _sent(request, asset, _FOR_EVER)
    if asset := assets().get(name):
        return _sent(request, asset, _ASK_AGAIN)
    raise NotFoundError(translate("this file does not exist"))


@router.get("/favicon.ico")
async def favicon(request: Request) -> Response:
    """For browsers that do not read the page."""
    return _sent(request, assets()["favicon.svg"], _ASK_AGAIN)


def _sent(request: Request, asset: Asset, keep: str) -> Response:
    headers = {"Cache-Control": keep, "ETag": f'"{asset.tag}"', "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if asset.squeezed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"] = "gzip"
        return Response(asset.squeezed, headers=headers, media_type=asset.type)
    return Response(asset.body, headers=headers, media_type=asset.type)


_KEPT = 64  # images in memory, of at most a megabyte each
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@router.get("/images/{chapter}/{name}")
async def image(request: Request, site: Here, chapter: str, name: str) -> Response:
    """One image."""
    path = site.catalog.images.get(f"{chapter}/{name}")
    if path is None:
        raise NotFoundError(translate("this image does not exist"))
    try:
        body, kind, tag = await run_in_threadpool(_stored, path)
    except (OSError, ValueError) as error:  # changed since the start
        raise NotFoundError(translate("this image cannot be shown")) from error
    headers = {"Cache-Control": "no-cache", "ETag": tag, "Content-Security-Policy": _POLICY}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=kind)


def _stored(path: Path) -> tuple[bytes, str, str]:
    found = path.stat()
    return _read_images(path, found.st_mtime_ns, found.st_size)


@lru_cache(_KEPT)
def _read_images(path: Path, changed: int, size: int) -> tuple[bytes, str, str]:
    """The bytes of the image at *path*, its type and its tag, as of *changed*."""
    body, kind = read_image(path)
    return body, kind, f'"{hashlib.sha256(body).hexdigest()[:16]}"'


_MOVED = 308
_RUN = "/explore/fit"
# From there to here.
FORMER = {
    "/guess": "/",
    "/map": "/",
    "/measured/traces": "/measured",
    "/map/start": "/",
    "/guess/{day}": "/",
    "/progress/goal.ics": "/progress",
    "/explore/comb": "/exercises/diagnosis/gaps-in-a-comb",
    "/explore/loss-scale": "/formulas/precision.loss_scale",
    "/explore/tolls": "/chapters/diagnosis",
    "/explore/fit/better": _RUN,
    "/explore/fit/better/{number}.{form}": _RUN,
    "/layouts": _RUN,
    "/layouts/{number}.{form}": _RUN,
    "/exercises/{topic}/{slug}/board": "/exercises/{topic}/{slug}",
    "/labs/{name}/board": "/labs/{name}",
    "/labs/{name}/board/{number}.{form}": "/labs/{name}",
    "/pictures/{path:path}": asset_url("social.png"),
}
FORMER_HEADS = tuple(sorted({path.split("/")[1] for path in FORMER}))


async def show_former(request: Request) -> RedirectResponse:
    """The way to what stands in place of the page; that of a run has the same state."""
    nearest = FORMER[request.scope["route"].path]
    parts = {name: quote(str(value), safe="") for name, value in request.path_params.items()}
    state = f"?{request.url.query}".removesuffix("?") if nearest == _RUN else ""
    return RedirectResponse(nearest.format_map(parts) + state, _MOVED)


for _former in FORMER:
    router.add_api_route(_former, show_former)
