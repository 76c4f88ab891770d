"""The end of a class, counted by table."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import func, insert
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, select

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import Role, create_class, enroll, number_of
from app.classes.people.counted_answers import extend
from app.classes.people.members import delete_class
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.server.db.people import (
    ContextRow,
    IdentityRow,
    LinkRow,
    MemberRow,
    OverrideRow,
    PersonRow,
    PlatformRow,
    SessionRow,
    SittingRow,
)
from app.server.db.tables import Attempt, AttemptRow, RevealRow, TokenRow, now

SECRET = "a secret of tests"


def counts(session: Session) -> Mapping[str, int]:
    """The rows of every table, by its name."""
    session.flush()
    return {
        name: session.connection().execute(columns(func.count()).select_from(table)).scalar() or 0
        for name, table in SQLModel.metadata.tables.items()
    }


def answered(session: Session, learner: str, exercise: str = "a/b") -> None:
    row = Attempt(
        learner=learner, exercise=exercise, seed=0, answer="1", correct=True, score=1.0, digest="", drawn="{}"
    )
    session.connection().execute(insert(AttemptRow), [vars(row)])
    session.add(RevealRow(learner=learner, exercise=exercise, seed=0, number=1))


def student(session: Session, class_id: int, name: str) -> PersonRow:
    person = new_person(session, name)
    enroll(session, class_id, number_of(person))
    answered(session, person.learner)
    return person


def test_a_class_goes_with_all_of_it_and_leaves_no_row_in_any_table(session: Session) -> None:
    before = counts(session)
    row = create_class(session, SECRET, "Ring")
    class_id = number_of(row)
    person = number_of(student(session, class_id, "Ada"))
    number = create_assignment(session, class_id, "Week 1", Policy(), [AssignmentEntry("a/b", 1.0)])
    extend(session, number, [person], now())
    session.add(SittingRow(assignment=number, person=person))
    session.add(OverrideRow(assignment=number, person=person, exercise="a/b", points=1.0))
    session.add(TokenRow(name="of the class", digest="d", scope="class", class_id=class_id))
    platform = PlatformRow(issuer="i", client_id="c", auth_url="a", token_url="t", jwks_url="j")
    session.add(platform)
    session.flush()
    place = platform.id or 0
    session.add(ContextRow(platform=place, deployment="1", context="7", class_id=class_id))
    session.add(LinkRow(platform=place, resource_link="r", assignment=number))
    assert {name for name, count in counts(session).items() if count > before[name]} >= {
        "class",
        "member",
        "person",
        "attempt",
        "reveal",
        "assignment",
        "assigned",
        "extension",
        "sitting",
        "override",
        "token",
        "context",
        "link",
    }
    assert delete_class(session, row) == 1
    session.delete(session.get(PlatformRow, platform.id))
    assert counts(session) == before


def test_students_who_are_elsewhere_keep_their_answers(session: Session) -> None:
    row = create_class(session, SECRET, "Ring")
    class_id = number_of(row)
    enroll(session, class_id, number_of(new_person(session, "Grace")), Role.TEACHER)
    names = ("nowhere else", "in another class", "signed in", "of a provider", "signed in long ago", "invented")
    people = {name: student(session, class_id, name) for name in names}
    other = create_class(session, SECRET, "Tree")
    enroll(session, number_of(other), number_of(people["in another class"]))
    open_browser(session, number_of(people["signed in"]))
    open_browser(session, number_of(people["signed in long ago"]))
    session.flush()
    _end_session_of(session, people["signed in long ago"])
    provided = number_of(people["of a provider"])
    session.add(IdentityRow(issuer="https://idp.example", subject="1", person=provided))
    session.add(IdentityRow(issuer="demo", subject="1", person=number_of(people["invented"])))  # by an earlier version
    session.flush()
    assert delete_class(session, row) == 3
    left = set(session.exec(select(PersonRow.name)).all())
    assert left & {*names, "Grace"} == {"in another class", "signed in", "of a provider", "Grace"}
    learners = set(session.exec(select(AttemptRow.learner)).all())
    assert len(learners) == 3
    assert session.exec(select(MemberRow).where(MemberRow.class_id == class_id)).all() == []


def _end_session_of(session: Session, person: PersonRow) -> None:
    row = session.exec(select(SessionRow).where(SessionRow.person == number_of(person))).one()
    row.until = now() - timedelta(days=1)
    session.add(row)
    session.flush()
