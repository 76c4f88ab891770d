"""Files with a hash in their name, images of the course, and addresses of pages that are gone."""

import hashlib
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from app.core.errors import NotFoundError
from app.core.translation import translate
from app.course.content.images import read_image
from app.server.network.routes import Router
from app.site import Here
from app.site.web.frame.assets import Asset, asset_url, assets, by_hashed_name

_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
router = Router()


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
# From there to here.
FORMER = {
    "/guess": "/",
    "/guess/{day}": "/",
    "/progress/goal.ics": "/progress",
    "/explore/comb": "/exercises/diagnosis/gaps-in-a-comb",
    "/explore/loss-scale": "/formulas/precision.loss_scale",
    "/explore/tolls": "/chapters/diagnosis",
    "/exercises/{topic}/{slug}/board": "/exercises/{topic}/{slug}",
    "/pictures/{path:path}": asset_url("social.png"),
}


async def show_former(request: Request) -> RedirectResponse:
    """The way to what stands in place of the page."""
    nearest = FORMER[request.scope["route"].path]
    parts = {name: quote(str(value), safe="") for name, value in request.path_params.items()}
    return RedirectResponse(nearest.format_map(parts), _MOVED)


for _former in FORMER:
    router.add_api_route(_former, show_former)
