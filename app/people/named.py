"""Whose answer a program sends: members of a class by the names that other systems know."""

from hashlib import sha256

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from app.db.people import MemberRow, PersonRow
from app.db.tables import LEARNER_LIMIT
from app.errors import InputError, nearest

_NEAREST = 2_000  # members among whom the closest is looked for


def labeled(grader: str, label: str) -> str:
    """The learner for whom a grader's answers of *label* are stored: token:NAME/LABEL.

    A digest where that is too long.
    """
    whole = f"{grader}/{label}"
    if len(whole) <= LEARNER_LIMIT and "\0" not in whole:
        return whole
    return f"{grader[:20]}/{sha256(whole.encode('utf-8', 'replace')).hexdigest()[:40]}"


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
            raise InputError(f"learner: several people are called {text[:60]!r}; send the number")
    ids = select(MemberRow.outside_id).where(*present, MemberRow.outside_id != "").limit(_NEAREST)
    raise InputError(
        f"learner: nobody in this class is called {text[:60]!r}{nearest(text, session.exec(ids))}"
    )
