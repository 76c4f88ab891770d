"""/placement: up to six questions that say which chapters a learner can skip."""

import secrets
from collections.abc import Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.translation import noted, translate
from app.course import learning
from app.server.db.assessments import AssessedRow
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.course.questions import Sitting, add_question_routes, answers_in, asked_questions
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import ROUTES, chapter_ticks, route_links, topics_on
from app.site.web.urls import chapter_url, seed_of

router = Router(prefix="/placement")
_SAYS = noted("Six questions at most that say which chapters you can skip.")
_ABOUT = noted("One answer, without hints. A calculator is welcome; if you do not know, skip.")
_DRAWS = 1_000_000  # of each route: the first are about all chapters
_ROUTES = ("", *ROUTES)


@router.get("")
def introduce_placement(request: Request, site: Here) -> Response:
    """What the placement is, and its beginning."""
    around = frame(request, translate("Placement"), translate(_SAYS), "exercises")
    routes = route_links(site.catalog, "/placement/begin")
    return render("course/placement.html", around, routes, most=learning.PLACEMENT_QUESTIONS)


@router.get("/begin")
async def begin_placement(site: Here, route: str = "") -> Response:
    """A new placement, about the chapters on *route*; by default, about all.

    Raises:
        NotFoundError: the route does not exist.
    """
    if not topics_on(site.catalog, route):
        return RedirectResponse("/placement", 303)
    draw = _ROUTES.index(route) * _DRAWS + secrets.randbelow(_DRAWS)
    return RedirectResponse(f"/placement/{draw}/1", 303)


@router.get("/{draw}")
def show_placement_result(request: Request, site: Here, visiting: Visiting, draw: str) -> Response:
    """What the answers say."""
    sitting = _sitting(site, visiting.learner, draw)
    if not sitting.answers:
        return RedirectResponse("/placement", 303)
    around = frame(request, translate("Your placement"), translate(_SAYS), "exercises")
    rows = tuple(sitting.answers.values())
    found = learning.place_learner(learning.Prerequisites(site.catalog.topics), _evidence(site, rows))
    mine = read_learner_history(site, visiting.learner).chapters
    route = _route_of(sitting.draw)
    names = frozenset(topic.id for topic in topics_on(site.catalog, route))
    return render(
        "course/placed.html",
        around,
        tuple(asked_questions(site, sitting)),
        known=_links(site, found.known),
        unknown=_links(site, found.unknown & names),
        untold=_links(site, names - found.known - found.unknown),
        sections=tuple(chapter_ticks(site.catalog, found.known | mine)),
        again=f"/placement/begin?route={route}" if route else "/placement/begin",
    )


def _sitting(site: Site, learner: str, draw: str) -> Sitting:
    """The placement with the number *draw*, as far as *learner* has come."""
    found = answers_in(site, learner, "placement", seed_of(draw))
    rows = tuple(found.values())
    known = site.catalog.by_id  # the course may no longer have a question
    asked = tuple(learning.AssessmentQuestion(r.number, known[r.exercise], r.seed) for r in rows if r.exercise in known)
    topics = topics_on(site.catalog, _route_of(seed_of(draw)))
    after = learning.placement_question(site.catalog, _evidence(site, rows), seed_of(draw), topics)
    return Sitting(
        sort="placement",
        title=translate("the placement"),
        draw=seed_of(draw),
        questions=(*asked, after) if after else asked,
        answers=found,
        total=translate("at most {count}", count=learning.PLACEMENT_QUESTIONS),
        about=translate(_ABOUT),
    )


def _route_of(draw: int) -> str:
    """The route of the placement with the number *draw*; empty: all chapters."""
    place = draw // _DRAWS
    return _ROUTES[place] if place < len(_ROUTES) else ""


def _evidence(site: Site, rows: Sequence[AssessedRow]) -> list[tuple[str, bool]]:
    """Whether the answer about each chapter was right, as far as the course still has the question."""
    asked = ((site.catalog.by_id.get(row.exercise), row.outcome == "right") for row in rows)
    return [(site.catalog.topic_of(one).id, is_right) for one, is_right in asked if one]


def _links(site: Site, names: frozenset[str]) -> tuple[Hyperlink, ...]:
    return tuple(Hyperlink(chapter_url(topic.id), topic.title) for topic in site.catalog.topics if topic.id in names)


add_question_routes(router, _sitting)
