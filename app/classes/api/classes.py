"""List classes, make one, get one, archive one, delete one."""

from typing import Annotated

from fastapi import Query, Request, Response
from sqlmodel import Session, col, select

from app.classes.api.access import (
    CLASSES,
    ERRORS,
    LINK,
    ONE_CLASS,
    Administrative,
    Number,
    Paged,
    Scoped,
    administrative,
    class_for,
)
from app.classes.api.shapes import ClassDocument, MadeClass, NewClass
from app.classes.people.classes import (
    Role,
    create_class,
    enroll,
    join_code_of,
    members_of,
    number_of,
    renew_seat_code,
    set_archived,
    take_out_of_archive,
)
from app.classes.people.deletion import delete_class, refuse_other_name
from app.classes.people.persons import clean_name, new_person
from app.server.db.people import ClassRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import NAME_LIMIT
from app.server.network.routes import Router
from app.site import Here, Site

ARCHIVE = ONE_CLASS + "/archive"
router = Router(tags=["classes"], responses=ERRORS)


@router.get(CLASSES, summary="List classes", responses={200: LINK})
def list_classes(request: Request, site: Here, grant: Scoped, page: Paged) -> list[ClassDocument]:
    """Returns the classes that the token opens, oldest first."""
    with open_session(site.engine) as session:
        statement = select(ClassRow).where(col(ClassRow.id) > page.after).order_by(col(ClassRow.id))
        if grant.scope != "admin":
            statement = statement.where(ClassRow.id == grant.class_id)
        rows = session.exec(statement.limit(page.limit + 1)).all()
        return [_document(request, site, session, row) for row in page.cut(rows, number_of)]


@router.post(CLASSES, status_code=201, summary="Make a class")
def make_class(request: Request, site: Here, _: Administrative, body: NewClass) -> MadeClass:
    """Returns the class and the seat code of its teacher, which is sent only once."""
    teacher = clean_name(body.teacher)
    with open_writing_session(site.engine) as session:
        row = create_class(session, site.secret, body.name, body.zone, pseudonyms=body.pseudonyms)
        person = number_of(new_person(session, teacher))
        code = renew_seat_code(session, enroll(session, number_of(row), person, Role.TEACHER, teacher))
        made = MadeClass(**_document(request, site, session, row).model_dump(), code=code)
        session.commit()
    return made


@router.get(ONE_CLASS, summary="Get a class")
def get_class(request: Request, site: Here, grant: Scoped, class_id: Number) -> ClassDocument:
    """Returns the class."""
    with open_session(site.engine) as session:
        return _document(request, site, session, class_for(session, grant, class_id))


@router.delete(ONE_CLASS, status_code=204, summary="Delete a class")
def remove_class(
    site: Here,
    grant: Scoped,
    class_id: Number,
    name: Annotated[str, Query(max_length=4 * NAME_LIMIT, description="of the class, to confirm")] = "",
) -> Response:
    """Deletes it with its assignments, its grades, its tokens, and those who are only in it."""
    with open_writing_session(site.engine) as session:
        row = class_for(session, grant, class_id)
        administrative(grant, "delete")
        refuse_other_name(name, row.name)
        delete_class(session, row)
        session.commit()
    return Response(status_code=204)


@router.put(ARCHIVE, summary="Archive a class")
def put_into_archive(request: Request, site: Here, grant: Scoped, class_id: Number) -> ClassDocument:
    """Returns the class: nobody can join it anymore. Everything in it stays."""
    with open_writing_session(site.engine) as session:
        row = class_for(session, grant, class_id)
        set_archived(session, row)
        session.commit()
        return _document(request, site, session, row)


@router.delete(ARCHIVE, summary="Take a class out of the archive")
def take_from_archive(request: Request, site: Here, grant: Scoped, class_id: Number) -> ClassDocument:
    """Returns the class, which stays closed to those who want to join."""
    with open_writing_session(site.engine) as session:
        row = class_for(session, grant, class_id)
        take_out_of_archive(session, row)
        session.commit()
        return _document(request, site, session, row)


def _document(request: Request, site: Site, session: Session, row: ClassRow) -> ClassDocument:
    members = members_of(session, number_of(row))
    root = (site.settings.url or str(request.base_url)).rstrip("/")
    return ClassDocument(
        id=number_of(row),
        name=row.name,
        zone=row.zone,
        joining=row.joining,
        join=f"{root}/join/{join_code_of(site.secret, row)}",
        pseudonyms=row.pseudonyms,
        archived=row.archived is not None,
        students=sum(one.role is Role.STUDENT for one in members),
    )
