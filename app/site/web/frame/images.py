"""/images: the images of a course, checked again each time that a file has changed."""

import hashlib
from functools import lru_cache
from pathlib import Path

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from app.core.errors import NotFoundError
from app.core.translation import translate
from app.course.content.images import read_image
from app.server.network.routes import Router
from app.site import Here

_KEPT = 64  # images in memory, of at most a megabyte each
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
router = Router()


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
