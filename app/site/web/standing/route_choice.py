"""The route that a visitor has started, how it is kept, and how far they are on it."""

from collections.abc import Mapping
from dataclasses import dataclass

from fastapi import Request, Response

from app.core.translation import noted, translate
from app.course.content.catalog import Catalog, Topic
from app.course.content.topic_file import Route
from app.site.web.frame.renderer import Hyperlink
from app.site.web.standing.view import LearnerHistory, path_of

ROUTES: Mapping[Route, str] = {
    "train": noted("I train"),
    "serve": noted("I serve"),
    "cluster": noted("I run the cluster"),
}
_COOKIE = "route"
_AGE = 400 * 24 * 3600  # seconds; browsers do not keep cookies for longer


@dataclass(frozen=True, slots=True)
class RouteProgress:
    """The route that was started: how many of its chapters are finished or known."""

    link: Hyperlink
    done: int
    total: int


def chosen_route(request: Request) -> str:
    """The route that the visitor has started; empty: none."""
    name = request.cookies.get(_COOKIE, "")
    return name if name in ROUTES else ""


def keep_route(request: Request, response: Response, route: str) -> None:
    """Let the browser keep *route*; an empty one is left."""
    secure = request.url.scheme == "https"
    if route:
        response.set_cookie(_COOKIE, route, _AGE, httponly=True, samesite="lax", secure=secure)
    else:
        response.delete_cookie(_COOKIE)


def route_progress(course: Catalog, past: LearnerHistory) -> RouteProgress | None:
    """How far the learner with that *past* is on their route; None without one."""
    topics = [topic for topic in course.topics if past.route in topic.routes]
    title = next((text for name, text in ROUTES.items() if name == past.route), "")
    if not topics or not title:
        return None
    done = sum(_is_done(topic, past) for topic in topics)
    return RouteProgress(Hyperlink(f"/map?route={past.route}", translate(title)), done, len(topics))


def chapter_on_route(course: Catalog, past: LearnerHistory) -> str:
    """The chapter of the last answer; empty if it is not on the route that was started."""
    here = (topic for topic in course.topics if topic.id == past.chapter)
    is_off = past.route and not any(past.route in topic.routes for topic in here)
    return "" if is_off else past.chapter


def _is_done(topic: Topic, past: LearnerHistory) -> bool:
    return topic.id in past.chapters or path_of(topic.path, past.known).is_finished
