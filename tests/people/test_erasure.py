"""What a class caused to be stored about its members: what it sees, what goes, and what stays."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete
from sqlmodel import Session, col, select

from app.classes.people.assignments import Assignment, AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import Role, create_class, enroll, number_of
from app.classes.people.counted_answers import extend, variant_seed
from app.classes.people.erasure import about_member, delete_person, forget_member, results_of_class
from app.classes.people.gradebook import Override, override
from app.classes.people.persons import new_person, open_browser
from app.classes.people.policy import Policy
from app.server.db.people import ExtensionRow, LinkRow, MemberRow, OutboxRow, PersonRow, PlatformRow, SessionRow
from app.server.db.session import open_writing_session
from app.server.db.tables import AttemptRow, RevealRow, now
from app.site import Site

SECRET, RING = "a secret of sixteen characters and more", "collectives/ring-all-reduce-time"
PLATFORM = "https://erasure.example"
JOINED = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def a_class(session: Session, name: str = "Systems") -> int:
    class_id = number_of(create_class(session, SECRET, name))
    enroll(session, class_id, number_of(new_person(session, "Grace")), Role.TEACHER)
    return class_id


def member(session: Session, class_id: int, person: PersonRow, role: Role = Role.STUDENT) -> MemberRow:
    row = enroll(session, class_id, number_of(person), role, person.name, f"id {person.id}")
    row.joined = JOINED
    session.add(row)
    session.flush()
    return row


def week(session: Session, class_id: int, policy: Policy | None = None, exercise: str = RING) -> Assignment:
    entries = [AssignmentEntry(exercise, 2.0)]
    return assignment_with(session, create_assignment(session, class_id, "Week", policy or Policy(), entries))


def answer(session: Session, one: Assignment, person: PersonRow, at: datetime, text: str, **other: object) -> int:
    """The number of an answer to the drawing that counts."""
    exercise = one.entries[0].exercise
    row = AttemptRow(
        learner=person.learner, exercise=exercise, seed=variant_seed(SECRET, one.id, exercise, person.learner),
        answer=text, correct=True, score=1.0, digest="", drawn="{}", at=at,
    )  # fmt: skip
    for name, value in other.items():
        setattr(row, name, value)
    session.add(row)
    session.flush()
    return row.id or 0


def results(session: Session, class_id: int, *page: object) -> list[object]:
    return [row["answer"] for row in results_of_class(session, SECRET, class_id, *page)]  # type: ignore[arg-type]


def test_results_are_what_students_did_for_the_class_since_they_joined_page_by_page(session: Session) -> None:
    class_id = a_class(session)
    one, (ada, bo, tom) = week(session, class_id), [new_person(session, name) for name in ("Ada", "Bo", "Tom")]
    for person, role in ((ada, Role.STUDENT), (bo, Role.STUDENT), (tom, Role.ASSISTANT)):
        member(session, class_id, person, role)
        answer(session, one, person, JOINED - SECOND, "before")
        answer(session, one, person, JOINED + DAY, "in a file", carried=True)
        answer(session, one, person, JOINED + DAY, "another drawing", seed=1)
    first = answer(session, one, bo, JOINED, "1")
    for text, person, at in (("2", ada, JOINED + DAY), ("3", bo, JOINED + DAY + SECOND), ("no student", tom, JOINED)):
        answer(session, one, person, at, text)
    assert results(session, class_id) == ["1", "2", "3"]
    assert results(session, class_id, first) == ["2", "3"], "after its number"
    assert results(session, class_id, 0, 2) == ["1", "2"]
    assert results(session, class_id, first, 1) == ["2"]
    assert results(session, class_id, 0, None, JOINED + DAY) == ["2", "3"], "at that time or later"
    assert results(session, a_class(session, "Of others")) == []


def test_where_any_drawing_counts_results_begin_when_the_assignment_opens(session: Session) -> None:
    class_id, ada = a_class(session), new_person(session, "Ada")
    member(session, class_id, ada)
    one = week(session, class_id, Policy(variants="many", opens=JOINED + DAY))
    for text, at in (("early", JOINED + DAY - SECOND), ("at once", JOINED + DAY)):
        answer(session, one, ada, at, text)
    assert results(session, class_id) == ["at once"]
    own = week(session, class_id, Policy(opens=JOINED + DAY), exercise="a/own")
    answer(session, own, ada, JOINED, "of an own drawing")
    assert results(session, class_id) == ["at once", "of an own drawing"]
    (called, _) = (row["learner"] for row in results_of_class(session, SECRET, class_id))
    assert called == f"id {ada.id}"


def two_classes(session: Session) -> tuple[PersonRow, list[Assignment]]:
    """Ada in two classes, with an answer, a hint, an extension, points by hand and a score in each."""
    ada, weeks = new_person(session, "Ada"), []
    platform = PlatformRow(issuer=PLATFORM, client_id="c", auth_url="a", token_url="t", jwks_url="j")
    session.add(platform)
    session.flush()
    for place in range(2):
        class_id = a_class(session, f"Class {place}")
        member(session, class_id, ada)
        one = week(session, class_id)
        answer(session, one, ada, JOINED, f"of {place}")
        seed = variant_seed(SECRET, one.id, RING, ada.learner)
        session.add(RevealRow(learner=ada.learner, exercise=RING, seed=seed, number=1, at=JOINED))
        extend(session, one.id, [number_of(ada)], JOINED + DAY, "Grace", f"why {place}")
        override(session, one, [Override(number_of(ada), RING, 1.0)], "Grace", "oral")
        link = LinkRow(platform=platform.id or 0, resource_link=f"r{place}", assignment=one.id)
        session.add(link)
        session.flush()
        session.add(OutboxRow(link=link.id or 0, person=number_of(ada), subject="a", points=0.5))
        weeks.append(one)
    session.flush()
    return ada, weeks


STORED = ("attempts", "reveals", "extensions", "overrides", "scores_sent")


def counts(session: Session, one: Assignment, person: int) -> list[int]:
    about = about_member(session, SECRET, session.get_one(MemberRow, (one.class_id, person)))
    return [len(about[name]) for name in STORED]  # type: ignore[arg-type]


def test_a_class_sees_and_deletes_of_a_member_what_it_caused_and_nothing_of_another(session: Session) -> None:
    ada, (one, other) = two_classes(session)
    number = number_of(ada)
    assert [counts(session, each, number) for each in (one, other)] == [[1] * 5, [1] * 5]
    row = session.get_one(MemberRow, (one.class_id, number))
    row.group_name, row.launched = "Mon", "student"
    forget_member(session, SECRET, row)
    assert [counts(session, each, number) for each in (one, other)] == [[0] * 5, [1] * 5]
    assert (row.left is not None, row.label, row.outside_id, row.group_name, row.launched) == (True, "", "", "", "")
    assert ada.name == "Ada", "she is in another class"


@pytest.mark.parametrize(("until", "name"), [(DAY, "Ada"), (-DAY, "")])
def test_a_name_stays_while_a_browser_is_signed_in(session: Session, until: timedelta, name: str) -> None:
    class_id, ada = a_class(session), new_person(session, "Ada")
    row = member(session, class_id, ada)
    open_browser(session, number_of(ada))
    session.flush()
    session.exec(select(SessionRow).where(SessionRow.person == ada.id)).one().until = now() + until
    forget_member(session, SECRET, row)
    assert ada.name == name


def test_who_is_deleted_leaves_graded_answers_alone_and_no_reason_nor_score(site: Site) -> None:
    with open_writing_session(site.engine) as session:
        _check_deletion(session)


def _check_deletion(session: Session) -> None:
    ada, (one, other) = two_classes(session)
    number, learner = number_of(ada), ada.learner
    assists = a_class(session, "Where she assists")
    member(session, assists, ada, Role.ASSISTANT)
    week(session, assists, exercise="a/assisted")
    idle = a_class(session, "Where she did nothing")
    member(session, idle, ada)
    week(session, idle, exercise="a/idle")
    for exercise in ("a/assisted", "a/practice"):
        answer(session, one, ada, JOINED, exercise, exercise=exercise)
    assert delete_person(session, ada)
    left = session.exec(select(AttemptRow).where(AttemptRow.learner == learner)).all()
    assert {row.exercise for row in left} == {RING}
    places = session.exec(select(MemberRow).where(MemberRow.person == number)).all()
    assert {row.class_id for row in places} == {one.class_id, other.class_id}
    assert {(row.label, row.outside_id, row.code_digest) for row in places} == {("", "", None)}
    assert session.exec(select(ExtensionRow.why).where(ExtensionRow.person == number)).all() == ["", ""]
    assert session.exec(select(OutboxRow).where(col(OutboxRow.person) == number)).all() == []
    session.exec(delete(PlatformRow).where(col(PlatformRow.issuer) == PLATFORM))
    session.commit()
