"""/classes/ID/statistics: figures of its exercises, to keep and to compare."""

import re
from dataclasses import dataclass

from fastapi import Response

from app.classes.pages.class_router import ClassRouter, ClassVisit
from app.classes.pages.ideas import link_to
from app.classes.people.classes import Role
from app.classes.people.exercise_statistics import ExerciseStatistics, statistics_csv, statistics_of_class
from app.core.translation import noted
from app.site.web.frame.renderer import Hyperlink

router = ClassRouter("/classes/{class_id:int}", "Grades", least=Role.ASSISTANT)
_BOM = "\ufeff"  # some spreadsheets read a file without it in another encoding


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """The figures of an exercise, or of its drawings with some values."""

    link: Hyperlink
    figures: ExerciseStatistics


@dataclass(frozen=True, slots=True)
class StatisticsPage:
    """The figures of a class; with *drawings*, also by the values of the drawings."""

    href: str
    drawings: bool
    rows: tuple[StatisticsRow, ...]


@router.page("/statistics", "statistics", noted("Statistics of {name}"))
def statistics_page(visit: ClassVisit, drawings: str = "") -> StatisticsPage:
    """The figures of the exercises of a class."""
    found = _class_statistics(visit, drawings)
    rows = tuple(StatisticsRow(link_to(visit.site, one.exercise), one) for one in found)
    return StatisticsPage(f"{visit.class_href}/statistics", bool(drawings), rows)


@router.page("/statistics.csv", "statistics")
def statistics_file(visit: ClassVisit, drawings: str = "") -> Response:
    """The same as a file."""
    text = statistics_csv(_class_statistics(visit, drawings))
    stem = re.sub(r"[^A-Za-z0-9]+", "-", visit.title).strip("-") or "class"
    return Response(
        _BOM + text,
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{stem}-statistics.csv"'},
    )


def _class_statistics(visit: ClassVisit, drawings: str) -> list[ExerciseStatistics]:
    site = visit.site
    return list(statistics_of_class(visit.session, site.secret, site.catalog, visit.class_id, drawings=bool(drawings)))
