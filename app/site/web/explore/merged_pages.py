"""Addresses of pages that are part of another one now: they lead there, with their state."""

from collections.abc import Mapping

from fastapi import Request
from fastapi.responses import RedirectResponse

from app.core.formulas.presets import ModelShape
from app.core.formulas.transformer import model_parameters
from app.course.explorers import EXPLORERS, Explorer
from app.course.explorers.controls import Control
from app.course.explorers.placements import MODELS
from app.server.network.routes import Router
from app.site.web.urls import explorer_url

router = Router(prefix="/layouts")
_KEPT = ("show", "predict", "was")  # what an address has beside the controls
_BILLION = 1e9
_MOVED = 308


def page_url(explorer: Explorer, query: Mapping[str, str]) -> str:
    """The page that shows *explorer* in the state of *query*."""
    if not explorer.part_of:
        return explorer_url(explorer.name, query)
    page = EXPLORERS[explorer.part_of]
    known = _same_model(page.controls[0], query) | dict(query)
    names = {control.name for control in page.controls} | set(_KEPT)
    state = {name: text for name, text in known.items() if name in names}
    return explorer_url(page.name, state or {"show": "1"})


def redirect_moved(explorer: Explorer, query: Mapping[str, str]) -> RedirectResponse:
    """An answer that leads to the page that shows *explorer*."""
    return RedirectResponse(page_url(explorer, query), _MOVED)


@router.get("")
@router.get("/{number}.{form}")
async def show_moved_search(request: Request) -> RedirectResponse:
    """The search for a better layout; degrees that were chosen are held."""
    given = {name: text for name, text in request.query_params.items() if text}
    return RedirectResponse(explorer_url("fit", given), _MOVED)


def _same_model(control: Control, query: Mapping[str, str]) -> dict[str, str]:
    """The model with about as many parameters as *query* says, in billions."""
    try:
        wanted = float(query["parameters"].partition(" ")[0]) * _BILLION
    except (KeyError, ValueError):
        return {}
    shapes = {name: ModelShape.named(name) for name in MODELS}
    near = min(shapes, key=lambda name: abs(model_parameters(shapes[name]) - wanted))
    return {control.name: near}
