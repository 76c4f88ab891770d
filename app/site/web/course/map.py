"""/map: which chapter builds on which, the routes through them, and the chapters one knows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from app.core.errors import NotFoundError, nearest
from app.core.translation import noted, plural, translate
from app.course.content.catalog import Catalog, Topic, sections_of
from app.course.learning import Prerequisites
from app.server.aside import aside
from app.server.db.assessments import MOST_CHAPTERS
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Frame, Hyperlink, frame, render
from app.site.web.frame.visitor import FromHere, Visiting, remember, spend, spend_storage, visitor_learner
from app.site.web.standing.history import read_learner_history
from app.site.web.standing.next_steps import ROUTES, chosen_route, keep_route, section_words
from app.site.web.standing.records import open_records
from app.site.web.standing.view import LearnerHistory, path_of
from app.site.web.urls import chapter_url

_ALL = noted("All of it")
_GAP = 5.0  # percent of the width between two columns
Progressed = Literal["new", "begun", "finished", "known"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A chapter on the map; *needs* are the chapters that it builds on."""

    id: str
    number: int
    href: str
    title: str
    minutes: int
    state: Progressed
    says: str
    needs: tuple[Hyperlink, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from a chapter to one that builds on it; in percent of the map."""

    before: str
    after: str
    path: str


@dataclass(frozen=True, slots=True)
class RouteTab:
    """A route, how many chapters it has, and how long it takes."""

    link: Hyperlink
    is_here: bool
    chapters: int
    hours: str


@dataclass(frozen=True, slots=True)
class MapChapterChoice:
    """A chapter in the form of those that one knows."""

    id: str
    title: str
    is_known: bool


@dataclass(frozen=True, slots=True)
class MapSection:
    """A part of the course in that form, with what the part is about."""

    title: str
    says: str
    choices: tuple[MapChapterChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapPage:
    """The chapters of a route in columns, and the lines between them.

    *known_elsewhere* are the known chapters that are not on the route.
    """

    tabs: tuple[RouteTab, ...]
    columns: tuple[tuple[Node, ...], ...]
    edges: tuple[Edge, ...]
    sections: tuple[MapSection, ...]
    known_elsewhere: tuple[str, ...]
    is_saved: bool
    route: str
    is_started: bool


def topics_on(catalog: Catalog, route: str) -> tuple[Topic, ...]:
    """The chapters on *route*; empty: all chapters.

    Raises:
        NotFoundError: the route does not exist.
    """
    if not route:
        return catalog.topics
    if route not in ROUTES:
        raise NotFoundError(translate("no route is called {name!r}", name=route[:40]) + nearest(route[:40], ROUTES))
    return tuple(topic for topic in catalog.topics if route in topic.routes)


def map_page(
    catalog: Catalog, topics: tuple[Topic, ...], route: str, past: LearnerHistory, *, is_saved: bool
) -> MapPage:
    """The map of *topics*, with the marks of a learner with that *past*."""
    graph = Prerequisites(topics)
    columns = graph.columns
    return MapPage(
        tabs=tuple(_tabs(catalog, route)),
        columns=tuple(tuple(_node(catalog, graph, topic, past) for topic in column) for column in columns),
        edges=tuple(_edges(graph)),
        sections=tuple(map_sections(catalog, past.chapters, topics)),
        known_elsewhere=tuple(one.id for one in catalog.topics if one.id in past.chapters and one not in topics),
        is_saved=is_saved,
        route=route,
        is_started=bool(route) and route == past.route,
    )


def map_sections(
    catalog: Catalog, known: frozenset[str], topics: Sequence[Topic] | None = None
) -> Iterator[MapSection]:
    """Each part with its chapters among *topics*, by default all, and which of them are *known*."""
    sections = tuple(sections_of(catalog, topics))
    for section in sections:
        choices = (MapChapterChoice(one.id, one.title, one.id in known) for one in section.topics)
        words = section_words(section.part, is_only=len(sections) == 1)
        yield MapSection(*words, tuple(choices))


def _tabs(catalog: Catalog, route: str) -> Iterator[RouteTab]:
    for name, text in (("", _ALL), *ROUTES.items()):
        topics = topics_on(catalog, name)
        if not topics:
            continue  # a course pack has no chapter on it
        href = f"/map?route={name}" if name else "/map"
        hours = round(sum(topic.minutes for topic in topics) / 60)
        yield RouteTab(
            Hyperlink(href, translate(text)),
            name == route,
            len(topics),
            plural("{number} hour", "{number} hours", hours) if hours else translate("less than an hour"),
        )


def _node(catalog: Catalog, graph: Prerequisites, topic: Topic, past: LearnerHistory) -> Node:
    titles = {one.id: one.title for one in graph.topics}
    state, says = _state(topic, past)
    return Node(
        id=topic.id,
        number=catalog.topics.index(topic) + 1,
        href=chapter_url(topic.id),
        title=topic.title,
        minutes=topic.minutes,
        state=state,
        says=says,
        needs=tuple(Hyperlink(chapter_url(n), titles[n]) for n in graph.direct[topic.id]),
    )


def _state(topic: Topic, past: LearnerHistory) -> tuple[Progressed, str]:
    """How far the learner is with *topic*, and that in words."""
    path = path_of(topic.path, past.known)
    if path.rows and path.is_finished:
        return "finished", translate("finished")
    if topic.id in past.chapters:
        return "known", translate("known")
    if path.solved:
        says = translate("{solved} of {count} solved", solved=path.solved, count=len(path.rows))
        return "begun", says
    return "new", ""


def _edges(graph: Prerequisites) -> Iterator[Edge]:
    columns, bend = graph.columns, _GAP * 0.6
    width = (100 - _GAP * (len(columns) - 1)) / len(columns) if columns else 0
    spots = {
        topic.id: (number * (width + _GAP), 100 * (place + 0.5) / len(column))
        for number, column in enumerate(columns)
        for place, topic in enumerate(column)
    }
    for after, needs in graph.direct.items():
        x2, y2 = spots[after]
        for before in needs:
            x1, y1 = spots[before][0] + width, spots[before][1]
            curve = f"{x1 + bend:.2f} {y1:.2f} {x2 - bend:.2f} {y2:.2f} {x2:.2f} {y2:.2f}"
            yield Edge(before, after, f"M{x1:.2f} {y1:.2f}C{curve}")


router = Router(prefix="/map")
_SAYS = noted("Which chapter builds on which, and routes for those who train, serve, or run the cluster.")
_MARK = 200  # bytes of a chapter that is marked


@router.get("")
def course_map(request: Request, site: Here, visiting: Visiting, route: str = "", saved: str = "") -> Response:
    """The map of all chapters, or of those on a route."""
    topics = topics_on(site.catalog, route)
    past = read_learner_history(site, visiting.learner, chosen_route(request))
    page = map_page(site.catalog, topics, route, past, is_saved=saved == "1")
    return render("course/map.html", _frame(request), page)


def _frame(request: Request) -> Frame:
    return frame(request, translate("The map"), translate(_SAYS), "exercises")


@router.get("/start")
async def start_route(request: Request, route: str = "") -> Response:
    """Start *route*, which then leads *Continue*; without one, leave the one that was started."""
    response = RedirectResponse("/" if route in ROUTES else "/map", 303)
    keep_route(request, response, route if route in ROUTES else "")
    return response


@router.post("/known", dependencies=[FromHere])
async def know(request: Request, site: Here, visiting: Visiting) -> Response:
    """Store which chapters the learner knows: those that were ticked, and no others."""
    spend(site.allowances.answers, "answers", 1.0)
    form = await request.form(max_files=0, max_fields=MOST_CHAPTERS)
    ticked = {str(value) for name, value in form.multi_items() if name == "chapter"}
    chosen = [one.id for one in site.catalog.topics if one.id in ticked]
    response = RedirectResponse("/map?saved=1#known", 303)
    if not chosen and not visiting.learner:
        return response  # nothing was ticked, and nothing is stored
    spend_storage(site, len(chosen) * _MARK)
    learner = visitor_learner(visiting)
    await aside(_mark, site, learner, chosen)
    remember(request, response, learner, site.secret)
    return response


def _mark(site: Site, learner: str, chapters: list[str]) -> None:
    with open_records(site, learner) as records:
        records.mark_known(chapters)
