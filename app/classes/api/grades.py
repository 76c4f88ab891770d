"""The points of a class, and the answers behind them."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.concurrency import run_in_threadpool

from app.classes.api.access import (
    ERRORS,
    LINK,
    ONE_CLASS,
    Number,
    Paged,
    Scoped,
    assignment_for,
    class_for,
    class_to_change,
)
from app.classes.api.shapes import GradesDifference, GradesDocument, PointsChangeDocument
from app.classes.people.csv_grades import Format, PointsChange, columns_of, difference_in, grades_file, store_difference
from app.classes.people.csv_text import decode_csv
from app.classes.people.gradebook import grades_of
from app.classes.people.results import results_of_class
from app.server.db.people import REASON_LIMIT
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here
from app.site.api.documents import text_body, text_content

router = Router(tags=["grades"], responses=ERRORS)
_CSV = "text/csv", "number,id,name,Collectives,total,overall %\n7,4711,Ada Lovelace,1.5,1.5,75\n"
InGroup = Annotated[str | None, Query(max_length=4 * NAME_LIMIT, description="of this group alone; empty: of none")]
_RESULT = {
    "number": 1,
    "exercise": "collectives/ring-all-reduce-time",
    "seed": 7,
    "answer": "70 ms",
    "verdict": "correct",
    "score": 1.0,
    "hints": 0,
    "revealed": False,
    "seconds": 61.0,
    "mistake": None,
    "digest": "5f1d...",
    "at": "2027-05-01T10:00:00+00:00",
    "learner": "4711",
}


@router.get(ONE_CLASS + "/grades", summary="Get grades", responses={200: LINK})
def get_grades(site: Here, grant: Scoped, class_id: Number, page: Paged, group: InGroup = None) -> GradesDocument:
    """Returns the points of each student in each assignment, by the number of the student."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        found = grades_of(
            session, site.secret, class_id, group, lambda students: page.cut(students, lambda one: one.person)
        )
    return GradesDocument.model_validate(found.described())


@router.get(
    ONE_CLASS + "/grades.csv",
    summary="Get grades as CSV",
    response_class=PlainTextResponse,
    responses={200: {"content": text_content(*_CSV), "description": "CSV"}},
)
def get_grades_file(
    site: Here,
    grant: Scoped,
    class_id: Number,
    format: Annotated[Format, Query(description="whose columns")] = "ours",
    assignment: Annotated[
        int, Query(ge=0, lt=2**63, description="the points in each exercise of this one; 0: of all")
    ] = 0,
    group: InGroup = None,
) -> Response:
    """Returns the file that Wallclock's page, Canvas or Moodle imports."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        chosen = assignment_for(session, grant, class_id, assignment) if assignment else None
        found = grades_of(session, site.secret, class_id, group)
    columns = columns_of(found.assignments, chosen)
    lowest = None if chosen else found.lowest
    text = grades_file(columns, found.members, found.cells, format, lowest)
    return Response(text, media_type="text/csv")


@router.put(
    ONE_CLASS + "/grades.csv",
    summary="Give the points of a CSV file by hand",
    openapi_extra={"requestBody": text_body(*_CSV)},
)
async def put_grades_file(
    site: Here,
    grant: Scoped,
    class_id: Number,
    request: Request,
    dry_run: Annotated[bool, Query(description="change nothing, and return the difference")] = False,
    why: Annotated[str, Query(max_length=4 * REASON_LIMIT, description="the reason, which students see")] = "",
) -> GradesDifference:
    """Takes what GET writes in its own format; only points that are not those of now are given."""
    content = await request.body()

    def change() -> GradesDifference:
        with open_writing_session(site.engine) as session:
            class_to_change(session, grant, class_id)
            found = difference_in(session, site.secret, class_id, decode_csv(content))
            if not dry_run:
                store_difference(session, found, f"token {grant.name}", why)
                session.commit()
        return GradesDifference(
            applied=not dry_run,
            changes=[_changed(one) for one in found.changes],
            same=found.same,
            left_out=list(found.left_out),
        )

    return await run_in_threadpool(change)


def _changed(one: PointsChange) -> PointsChangeDocument:
    return PointsChangeDocument(
        number=one.member.person,
        id=one.member.outside_id,
        name=one.member.name,
        assignment=one.column.assignment.id,
        exercise=one.column.exercise or None,
        before=one.before,
        after=one.after,
    )


@router.get(
    ONE_CLASS + "/results",
    summary="List answers",
    response_model=None,
    responses={
        200: {
            **LINK,
            "description": "answers and verdicts, oldest first",
            "content": {
                "application/json": {"schema": {"type": "array", "items": {"type": "object"}}, "example": [_RESULT]}
            },
        }
    },
)
def get_results(site: Here, grant: Scoped, class_id: Number, page: Paged) -> list[Mapping[str, Any]]:
    """Returns the answers of the students of a class, as `wallclock results` writes them."""
    with open_session(site.engine) as session:
        class_for(session, grant, class_id)
        found = list(results_of_class(session, site.secret, class_id, page.after, page.limit + 1))
    return list(page.cut(found, lambda row: int(str(row["number"]))))
