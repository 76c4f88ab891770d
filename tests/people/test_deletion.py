"""The end of a class, counted by table; and the class of invented students."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import pytest
from sqlalchemy import func, insert
from sqlalchemy import select as columns
from sqlmodel import Session, SQLModel, select

from app.classes.people.activity import turnouts
from app.classes.people.assignments import AssignmentEntry, assignments_of, create_assignment
from app.classes.people.classes import (
    Role,
    class_with,
    create_class,
    enroll,
    member_of_seat_code,
    members_of,
    number_of,
)
from app.classes.people.counted_answers import extend
from app.classes.people.demo import Demo, create_demo
from app.classes.people.members import delete_class
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.core.errors import InputError
from app.course.content.catalog import Catalog
from app.course.sandbox.runner import Runner
from app.server.config import Settings
from app.server.db.people import (
    ClassRow,
    ContextRow,
    ExtensionRow,
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
    names = ("nowhere else", "in another class", "signed in", "of a provider", "signed in long ago")
    people = {name: student(session, class_id, name) for name in names}
    other = create_class(session, SECRET, "Tree")
    enroll(session, number_of(other), number_of(people["in another class"]))
    open_browser(session, number_of(people["signed in"]))
    open_browser(session, number_of(people["signed in long ago"]))
    session.flush()
    _end_session_of(session, people["signed in long ago"])
    provided = number_of(people["of a provider"])
    session.add(IdentityRow(issuer="https://idp.example", subject="1", person=provided))
    session.flush()
    assert delete_class(session, row) == 2
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


@pytest.fixture
def demo(session: Session, catalog: Catalog) -> Demo:
    runner = Runner(Settings())  # it is not started: none of the exercises needs it
    return asyncio.run(create_demo(session, catalog, SECRET, runner, now()))


def test_the_demo_has_judged_answers_of_own_variants_and_wrong_ideas(session: Session, demo: Demo) -> None:
    members = members_of(session, demo.class_id)
    students = [one for one in members if one.role is Role.STUDENT]
    assert len(students) == demo.students == 24
    assert len({one.name for one in students}) == 24
    learners = {one.learner for one in students}
    rows = [row for row in session.exec(select(AttemptRow)).all() if row.learner in learners]
    assert len(rows) == demo.answers > 100
    wrong = [row for row in rows if not row.correct]
    assert 0.2 < len(wrong) / len(rows) < 0.7
    assert sum(row.mistake is not None for row in wrong) > len(wrong) / 2
    assert max(row.at for row in rows) <= now()
    over, current, exam = assignments_of(session, demo.class_id)
    found = turnouts(session, SECRET, [over, current, exam], members)
    assert 0 < found[over.id].all < found[over.id].begun <= 24
    assert 0.3 < found[over.id].mean < 0.95
    assert found[exam.id].begun == 0
    assert [(one.policy.late, one.policy.attempts, one.policy.sitting) for one in (over, current, exam)] == [
        (0.2, 0, 0), (0.0, 5, 0), (0.0, 0, 45),
    ]  # fmt: skip
    assert ({one.points for one in exam.entries}, exam.policy.show_points) == ({10.0}, False)
    today = now().astimezone(over.policy.zone).date()
    days = [[(at.astimezone(one.policy.zone).date() - today).days for at in (one.policy.opens, one.policy.due,
             one.policy.closes) if at] for one in (over, current, exam)]  # fmt: skip
    assert days == [[-15, -7, -3], [-6, 1, 1], [6, 7, 7]]
    (extended,) = session.exec(select(ExtensionRow).where(ExtensionRow.assignment == over.id))
    assert extended.person == max(one.person for one in students)
    seat = member_of_seat_code(session, demo.code)
    assert seat is not None
    assert seat.role == "teacher"


def test_the_demo_is_removed_with_its_people_but_not_with_those_who_joined_it(
    session: Session, catalog: Catalog
) -> None:
    before = counts(session)
    made = asyncio.run(create_demo(session, catalog, SECRET, Runner(Settings()), now()))
    visitor = student(session, made.class_id, "Ada")
    open_browser(session, number_of(visitor))
    delete_class(session, class_with(session, made.class_id))
    after = counts(session)
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert changed == {"person": 1, "session": 1, "attempt": 1, "reveal": 1}
    assert session.exec(select(ClassRow).where(ClassRow.id == made.class_id)).all() == []


def test_a_server_with_few_chapters_has_no_demo(session: Session) -> None:
    with pytest.raises(InputError, match="two chapters"):
        asyncio.run(create_demo(session, Catalog((), {}), SECRET, Runner(Settings()), now()))
