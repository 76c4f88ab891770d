"""List classes, make one, get one."""

from fastapi import APIRouter
from sqlmodel import Session, col, select

from app.api.people.access import (
    CLASSES,
    ERRORS,
    LINK,
    ONE_CLASS,
    Administrative,
    Number,
    Paged,
    Scoped,
    class_for,
)
from app.api.people.shapes import ClassDocument, MadeClass, NewClass
from app.db.people import ClassRow
from app.db.session import open_session, open_writing_session
from app.people.classes import (
    Role,
    create_class,
    enroll,
    join_code_of,
    members_of,
    number_of,
    renew_seat_code,
)
from app.people.persons import clean_name, new_person
from app.site import Here, Site

router = APIRouter(tags=["classes"], responses=ERRORS)


@router.get(CLASSES, summary="List classes", responses={200: LINK})
def list_classes(site: Here, grant: Scoped, page: Paged) -> list[ClassDocument]:
    """Returns the classes that the token opens, oldest first."""
    with open_session(site.engine) as session:
        statement = select(ClassRow).where(col(ClassRow.id) > page.after).order_by(col(ClassRow.id))
        if grant.scope != "admin":
            statement = statement.where(ClassRow.id == grant.class_id)
        rows = session.exec(statement.limit(page.limit + 1)).all()
        return [_document(site, session, row) for row in page.cut(rows, number_of)]


@router.post(CLASSES, status_code=201, summary="Make a class")
def make_class(site: Here, _: Administrative, body: NewClass) -> MadeClass:
    """Returns the class and the seat code of its teacher, which is sent only once."""
    teacher = clean_name(body.teacher)
    with open_writing_session(site.engine) as session:
        row = create_class(session, site.secret, body.name, body.zone, pseudonyms=body.pseudonyms)
        person = number_of(new_person(session, teacher))
        code = renew_seat_code(
            session, enroll(session, number_of(row), person, Role.TEACHER, teacher)
        )
        made = MadeClass(**_document(site, session, row).model_dump(), code=code)
        session.commit()
    return made


@router.get(ONE_CLASS, summary="Get a class")
def get_class(site: Here, grant: Scoped, class_id: Number) -> ClassDocument:
    """Returns the class."""
    with open_session(site.engine) as session:
        return _document(site, session, class_for(session, grant, class_id))


def _document(site: Site, session: Session, row: ClassRow) -> ClassDocument:
    members = members_of(session, number_of(row))
    return ClassDocument(
        id=number_of(row),
        name=row.name,
        zone=row.zone,
        joining=row.joining,
        join=f"{site.settings.url or site.settings.prefix}/join/{join_code_of(site.secret, row)}",
        pseudonyms=row.pseudonyms,
        archived=row.archived is not None,
        students=sum(one.role is Role.STUDENT for one in members),
    )
