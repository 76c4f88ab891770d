"""Members of a class by the names that other systems know."""

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from app.core.errors import InputError, nearest
from app.core.translation import translate
from app.server.db.people import MemberRow, PersonRow

_NEAREST = 2_000  # members among whom the closest is looked for


def bare_id(outside: str) -> str:
    """An id without the zeros that a spreadsheet takes off: 007 is 7."""
    return outside.lstrip("0") if outside.isdecimal() else outside


def learner_called(session: Session, text: str, class_id: int | None) -> str:
    """The learner of the member called *text*: by the id of other systems, or by number.

    Of one class, or of all if *class_id* is None.

    Raises:
        InputError: nobody is called so, or several persons are; the message offers the closest id.
    """
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else -1  # noqa: PLR2004
    present: list[ColumnElement[bool]] = [col(MemberRow.left).is_(None)]
    if class_id is not None:
        present.append(col(MemberRow.class_id) == class_id)
    for called in (col(MemberRow.outside_id) == text, col(MemberRow.person) == number):
        statement = (
            select(PersonRow.learner)
            .join(MemberRow, col(MemberRow.person) == col(PersonRow.id))
            .where(called, *present)
            .distinct()
            .limit(2)
        )
        found = session.exec(statement).all()
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(translate("learner: several people are called {text!r}; send the number", text=text[:60]))
    ids = select(MemberRow.outside_id).where(*present, MemberRow.outside_id != "").limit(_NEAREST)
    raise InputError(
        translate(
            "learner: nobody in this class is called {text!r}{near}",
            text=text[:60],
            near=nearest(text, session.exec(ids)),
        )
    )
