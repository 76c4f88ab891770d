"""/static: a file with its hash in the name never changes, so it may be kept for a year."""

from fastapi import Request, Response

from app.core.errors import NotFoundError
from app.core.translation import translate
from app.server.network.routes import Router
from app.site.web.frame.assets import Asset, assets, by_hashed_name

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
