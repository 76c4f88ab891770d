"""Addresses of pages that are gone: each leads to the page that is now nearest to it."""

from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse

from app.server.network.routes import Router
from app.site.web.frame.assets import asset_url

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

router = Router()


async def show_former(request: Request) -> RedirectResponse:
    """The way to what stands in place of the page."""
    nearest = FORMER[request.scope["route"].path]
    parts = {name: quote(str(value), safe="") for name, value in request.path_params.items()}
    return RedirectResponse(nearest.format_map(parts), _MOVED)


for _former in FORMER:
    router.add_api_route(_former, show_former)
