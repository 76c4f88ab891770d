"""/classes/ID/statistics: figures of its exercises, to keep and to compare."""

import re
from dataclasses import dataclass

from fastapi import Request, Response

from app.classes.pages.class_head import ClassHead, class_head, class_url
from app.classes.pages.guard import Membership, in_class
from app.classes.pages.ideas import link_to
from app.classes.people.classes import Role
from app.classes.people.exercise_statistics import ExerciseStatistics, statistics_csv, statistics_of_class
from app.core.translation import translate
from app.server.aside import aside
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here, Site
from app.site.web.frame.renderer import Hyperlink, frame, render
from app.site.web.frame.visitor import Visiting

router = Router(prefix="/classes/{class_id:int}")
_BOM = "\ufeff"  # some spreadsheets read a file without it in another encoding


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """The figures of an exercise, or of its drawings with some values."""

    link: Hyperlink
    figures: ExerciseStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsPage:
    """The figures of a class; with *drawings*, also by the values of the drawings."""

    head: ClassHead
    href: str
    drawings: bool
    rows: tuple[StatisticsRow, ...]


@router.get("/statistics")
async def show_statistics(
    request: Request, site: Here, visiting: Visiting, class_id: int, drawings: str = ""
) -> Response:
    """The figures of the exercises of a class."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    return await aside(_shown_statistics, request, site, member, drawings)


@router.get("/statistics.csv")
async def statistics_file(
    request: Request, site: Here, visiting: Visiting, class_id: int, drawings: str = ""
) -> Response:
    """The same as a file."""
    member = await in_class(request, site, visiting, class_id, Role.ASSISTANT)
    text = await aside(_statistics_file, site, member, drawings)
    stem = re.sub(r"[^A-Za-z0-9]+", "-", member.row.name).strip("-") or "class"
    return Response(
        _BOM + text,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{stem}-statistics.csv"'},
    )


def _shown_statistics(request: Request, site: Site, member: Membership, drawings: str) -> Response:
    found = _class_statistics(site, member, drawings)
    page = StatisticsPage(
        head=class_head(member, "Grades"),
        href=f"{class_url(member.class_id)}/statistics",
        drawings=bool(drawings),
        rows=tuple(StatisticsRow(link_to(site, one.exercise), one) for one in found),
    )
    around = frame(request, translate("Statistics of {name}", name=member.row.name), here="classes")
    return render("people/statistics.html", around, page)


def _statistics_file(site: Site, member: Membership, drawings: str) -> str:
    return statistics_csv(_class_statistics(site, member, drawings))


def _class_statistics(site: Site, member: Membership, drawings: str) -> list[ExerciseStatistics]:
    with open_session(site.engine) as session:
        return list(statistics_of_class(session, site.secret, site.catalog, member.class_id, drawings=bool(drawings)))
