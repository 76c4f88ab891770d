"""The home page: what the site is, the way on, and the chapters."""

from collections.abc import Collection
from datetime import date

from fastapi import Request, Response

from app.core.translation import noted, translate
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.home.view import home_page
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.records import open_records
from app.site.web.standing.route_choice import chosen_route

router = Router()
_STREAK_BACK = 400  # days that are searched
_SAYS = noted("Exercises in the arithmetic of distributed training: predict the training step, then time it.")


@router.get("/")
async def home(request: Request, site: Here, visiting: Visiting) -> Response:
    """All chapters."""
    today, learner = site.clock().date(), visiting.learner
    page = home_page(
        site.catalog,
        read_learner_history(site, learner, chosen_route(request)),
        _days_worked(site, learner, today),
        today,
    )
    return render("home.html", frame(request, "Wallclock", translate(_SAYS), "exercises"), page)


def _days_worked(site: Site, learner: str, today: date) -> Collection[date]:
    """The days on which *learner* has worked."""
    if not learner:
        return ()
    since = date.fromordinal(today.toordinal() - _STREAK_BACK)
    with open_records(site, learner) as records:
        return records.attempts_by_day(since).keys()
