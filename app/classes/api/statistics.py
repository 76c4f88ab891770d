"""Figures of the exercises of a class."""

from dataclasses import asdict
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field

from app.classes.api.access import ERRORS, ONE_CLASS, Number, Scoped, class_for
from app.classes.people.exercise_statistics import statistics_of_class
from app.server.db.session import open_session
from app.server.network.routes import Router
from app.site import Here

router = Router(tags=["grades"], responses=ERRORS)


class ExerciseStatisticsDocument(BaseModel):
    """How the students of a class did with an exercise; shares are from 0 to 1."""

    assignment: int
    title: str = Field(description="of the assignment")
    exercise: str
    values: str = Field(description="of the drawings with these values alone; empty: of all")
    students: int = Field(description="who have answered")
    first_try: float = Field(description="share of those whose first answer was right")
    answers: float = Field(description="mean number of answers")
    solved: float = Field(description="share of those who have a right answer")
    share: float | None = Field(description="mean share of the points; null: of a drawing")
    discrimination: float | None = Field(
        description="correlation of the share of the points with the points in the other exercises "
        "of the assignment, from -1 to 1; null: fewer than 3 students, or they do not differ"
    )


@router.get(ONE_CLASS + "/statistics", summary="Get the statistics of the exercises")
def get_statistics(
    site: Here,
    grant: Scoped,
    class_id: Number,
    drawings: Annotated[bool, Query(description="also by the values of the drawings")] = False,
) -> list[ExerciseStatisticsDocument]:
    """Returns the figures of each exercise with an answer, by assignment."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        found = list(statistics_of_class(session, site.secret, site.catalog, class_id, drawings=drawings))
    return [ExerciseStatisticsDocument(**asdict(one)) for one in found]
