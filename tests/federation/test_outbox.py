"""The outbox in the database alone: which shares platforms should have, what is due when, and what has arrived."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, col, select

from app.classes.federation import outbox
from app.classes.federation.delivery import Changes
from app.classes.federation.lti.platforms import Platform, platforms, register_platform, remove_platform
from app.classes.federation.outbox import NO_SCORE, EarnedShare
from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import create_class, enroll, number_of
from app.classes.people.counted_answers import extend, variant_seed
from app.classes.people.gradebook import Override, override
from app.classes.people.members import remove_members
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.server.db.migrations import migrate
from app.server.db.people import AssignmentRow, ContextRow, IdentityRow, LinkRow, OutboxRow, PlatformRow, RegradeRow
from app.server.db.session import connect, open_session
from app.server.db.tables import AttemptRow
from tests.each import each

SECRET = "a secret of sixteen characters and more"
NOW = datetime(2036, 11, 2, 9, 0, tzinfo=UTC)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
RING, TREE = "a/ring", "a/tree"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('outbox') / 'w.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@dataclass
class Course:
    """A class of two students that a link of a platform opens."""

    session: Session
    class_id: int
    assignment: int
    platform: int
    link: int
    persons: tuple[int, ...]
    learners: tuple[str, ...]

    def answer(self, place: int, exercise: str, score: float, at: datetime = NOW) -> int:
        learner = self.learners[place]
        seed = variant_seed(SECRET, self.assignment, exercise, learner)
        row = AttemptRow(
            learner=learner, exercise=exercise, seed=seed, answer="1", correct=score == 1, score=score, digest="d",
            drawn="{}", at=at,
        )  # fmt: skip
        self.session.add(row)
        self.session.flush()
        return row.id or 0

    def post(self, *shares: float, at: datetime = NOW, everyone: bool = False) -> int:
        given = {one: EarnedShare(share, None) for one, share in zip(self.persons, shares, strict=False)}
        return outbox.post(self.session, self.assignment, given, at, everyone=everyone)

    def rows(self) -> list[OutboxRow]:
        self.session.flush()
        self.session.expire_all()
        found = select(OutboxRow).where(OutboxRow.link == self.link).order_by(col(OutboxRow.person))
        return list(self.session.exec(found))

    def shares(self, at: datetime = NOW, persons: tuple[int, ...] | None = None) -> list[float | None]:
        found = outbox.shares_of(self.session, SECRET, self.assignment, at, persons)
        return [found[one].share if one in found else None for one in self.persons]


def course_in(session: Session, name: str, policy: Policy | None = None) -> Course:
    class_id = number_of(create_class(session, SECRET, name))
    entries = [AssignmentEntry(RING, 1.0), AssignmentEntry(TREE, 3.0)]
    assignment = create_assignment(session, class_id, f"Week of {name}", policy or Policy(), entries)
    url = f"https://{name}.example"
    platform = register_platform(
        session, Platform(name=f"LMS {name}", issuer=url, client_id="c", auth_url=url, token_url=url, jwks_url=url)
    )
    link = LinkRow(platform=platform.id, deployment="1", resource_link="r", assignment=assignment)
    session.add(link)
    persons = [new_person(session, f"{name} {who}") for who in ("Ada", "Bo")]
    for place, person in enumerate(persons):
        enroll(session, class_id, number_of(person)).joined = NOW - 99 * DAY
        session.add(IdentityRow(issuer=platform.identities, subject=f"s{place}", person=number_of(person)))
    session.flush()
    numbers, learners = tuple(map(number_of, persons)), tuple(one.learner for one in persons)
    return Course(session, class_id, assignment, platform.id, link.id or 0, numbers, learners)


@pytest.fixture
def session(engine: Engine) -> Iterator[Session]:
    with open_session(engine) as made:
        yield made
        made.rollback()
        for one in platforms(made):  # the outbox commits
            remove_platform(made, one)
        made.commit()


@pytest.fixture
def course(session: Session) -> Course:
    return course_in(session, "one")


def test_a_share_is_of_the_points_that_are_possible_and_at_most_all(course: Course) -> None:
    assignment = assignment_with(course.session, course.assignment)

    def given(exercise: str, points: float | None, *, excused: bool = False) -> list[float | None]:
        override(course.session, assignment, [Override(course.persons[0], exercise, points, excused)], "Ada", "oral")
        return course.shares()

    assert course.shares() == [None, None]
    course.answer(0, TREE, 0.5)
    course.answer(1, RING, 0.0)
    assert course.shares() == [0.375, 0.0]
    assert course.shares(persons=course.persons[1:]) == [None, 0.0]
    assert given(RING, 9.0) == [1.0, 0.0], "more than all is all"
    assert given(RING, None, excused=True) == [0.5, 0.0]
    assert given(TREE, None, excused=True) == [NO_SCORE, 0.0]
    assert given("", 2.0) == [0.5, 0.0]


def test_points_of_nothing_are_none(session: Session) -> None:
    course = course_in(session, "zero")
    for row in session.exec(select(AssignmentRow).where(AssignmentRow.id == course.assignment)):
        row.title = "Nothing"
    session.connection().exec_driver_sql(f"UPDATE assigned SET points = 0 WHERE assignment = {course.assignment}")
    course.answer(0, RING, 1.0)
    assert course.shares() == [0.0, None]


def test_the_last_of_the_answers_that_earned_points_dates_them(course: Course) -> None:
    for exercise, at in ((RING, NOW - 3 * HOUR), (TREE, NOW - HOUR), (RING, NOW)):
        course.answer(0, exercise, 0.5, at)
    found = outbox.shares_of(course.session, SECRET, course.assignment, NOW)
    assert found[course.persons[0]].answered == NOW - HOUR, "a later one that is no better earned nothing"
    assignment = assignment_with(course.session, course.assignment)
    override(course.session, assignment, [Override(course.persons[1], RING, 1.0)], "Ada", "oral")
    found = outbox.shares_of(course.session, SECRET, course.assignment, NOW)
    assert found[course.persons[1]] == EarnedShare(0.25, None)


def test_points_that_are_hidden_are_sent_once_each_student_sees_them(session: Session) -> None:
    course = course_in(session, "hidden", Policy(due=NOW + DAY, show_points=False))
    for place in (0, 1):
        course.answer(place, RING, 1.0)
    extend(session, course.assignment, [course.persons[1]], NOW + 3 * DAY)
    for at, expected in (
        (NOW, [None, None]), (NOW + DAY, [None, None]), (NOW + DAY + SECOND, [0.25, None]),
        (NOW + 3 * DAY + SECOND, [0.25, 0.25]),
    ):  # fmt: skip
        assert course.shares(at) == expected


def test_what_has_not_changed_is_not_put_into_the_outbox_again(course: Course) -> None:
    assert course.post(0.5, NO_SCORE) == 1, "who has no score had none before"
    assert [row.points for row in course.rows()] == [0.5]
    assert course.post(0.5 + 1e-12, 0.25) == 1
    (first, _), one = course.rows(), outbox.due_scores(course.session, course.platform, NOW, 9)[0]
    assert outbox.claim_score(course.session, one, NOW)
    outbox.mark_failed(course.session, one, "x" * 600, NOW, refused=True)
    (first, _) = course.rows()
    assert (first.tries, len(first.said), first.next) == (1, 500, NOW + timedelta(seconds=15))
    assert course.post(0.75) == 1
    (first, _) = course.rows()
    assert (first.tries, first.said, first.next) == (0, "", NOW), "another score is tried anew"
    outbox.mark_failed(course.session, one, "late", NOW, refused=True)
    assert course.rows()[0].said == "", "what became of the earlier score says nothing of this one"


def test_another_name_on_the_platform_gets_the_same_score(course: Course) -> None:
    course.post(0.5)
    (row,) = course.rows()
    row.next = None
    known = course.session.exec(select(IdentityRow).where(IdentityRow.person == course.persons[0])).one()
    course.session.delete(known)
    course.session.flush()
    course.session.add(replace_identity(known, "renamed"))
    course.session.flush()
    assert course.post(0.5) == 1
    (row,) = course.rows()
    assert (row.subject, row.next) == ("renamed", NOW)


def replace_identity(row: IdentityRow, subject: str) -> IdentityRow:
    return IdentityRow(issuer=row.issuer, subject=subject, person=row.person)


@each(("refused", "most"), [(True, 5), (False, 24)])
def test_waits_double_up_to_six_hours_and_a_platform_may_ask_for_another(
    course: Course, refused: bool, most: int
) -> None:
    course.post(0.0)
    course.post(0.5)
    (one,) = outbox.due_scores(course.session, course.platform, NOW, 9)
    for tries, after, seconds in ((0, None, 15), (1, None, 30), (3, None, 120), (3, timedelta(seconds=7), 7)):
        outbox.mark_failed(course.session, replace(one, tries=tries), "no", NOW, refused=refused, after=after)
        assert course.rows()[0].next == NOW + timedelta(seconds=seconds)
    for tries, rests in ((most - 2, False), (most - 1, True), (most, True)):
        outbox.mark_failed(course.session, replace(one, tries=tries), "no", NOW, refused=refused)
        assert (course.rows()[0].next is None) is rests
    assert [outbox.wait_after(tries) for tries in (10, 11, 30, 999)] == [timedelta(seconds=15_360)] + 3 * [6 * HOUR]


def test_a_score_that_arrived_rests_and_a_newer_one_stays_due(course: Course) -> None:
    course.post(0.5)
    (one,) = outbox.due_scores(course.session, course.platform, NOW, 9)
    assert outbox.claim_score(course.session, one, NOW)
    (row,) = course.rows()
    assert (row.next, row.tries) == (NOW + timedelta(minutes=3), 1)
    assert not outbox.claim_score(course.session, one, NOW + timedelta(minutes=3) - SECOND)
    assert outbox.claim_score(course.session, one, NOW + timedelta(minutes=3)), "a server that took it was killed"
    outbox.note_arrival(course.session, one, NOW)
    (row,) = course.rows()
    assert (row.next, row.tries, row.said, row.sent_points, row.sent_at) == (None, 0, "", 0.5, NOW)
    course.post(0.75, at=NOW + SECOND)
    assert course.rows()[0].next == NOW + 2 * SECOND, "two seconds after the one before"
    course.post(1.0, at=NOW + HOUR)
    assert course.rows()[0].next == NOW + HOUR
    outbox.note_arrival(course.session, one, NOW)
    assert course.rows()[0].next == NOW + HOUR, "it was another one that arrived"


def test_each_platform_and_each_class_has_its_own_scores(session: Session) -> None:
    one, other = course_in(session, "north"), course_in(session, "south")
    for course in (one, other):
        course.post(0.25, 0.5)
    assert outbox.waiting_platforms(session, NOW) == sorted([one.platform, other.platform])
    assert outbox.waiting_platforms(session, NOW - SECOND) == []
    assert {due.person for due in outbox.due_scores(session, one.platform, NOW, 9)} == set(one.persons)
    outbox.postpone(session, one.platform, NOW, NOW + HOUR)
    assert [row.next for row in one.rows()] == [NOW + HOUR] * 2
    assert [row.next for row in other.rows()] == [NOW] * 2
    assert outbox.waiting_platforms(session, NOW) == [other.platform]
    session.get_one(PlatformRow, other.platform).active = False
    session.commit()
    assert outbox.waiting_platforms(session, NOW) == []
    for course in (one, other):
        for row, said in zip(course.rows(), ("no", ""), strict=True):
            row.said, row.next, row.tries = said, None, 5
    session.commit()
    for class_id, left in ((one.class_id, (1, 0, 1)), (other.class_id, (1, 0, 1)), (0, (0, 0, 0))):
        found = outbox.sending_of(session, class_id)
        assert (found.arrived, found.waiting, found.refused) == left
    assert outbox.send_refused_again(session, one.class_id, NOW) == 1
    assert [(row.next, row.tries, row.said) for row in one.rows()] == [(NOW, 0, ""), (None, 5, "")]
    assert [row.next for row in other.rows()] == [None, None]
    assert outbox.send_again(session, other.assignment, other.persons[1], NOW) == 1
    assert [(row.next, row.tries) for row in other.rows()] == [(None, 5), (NOW, 0)]
    assert outbox.linked_assignments(session) == sorted([one.assignment, other.assignment])


def test_what_did_not_arrive_is_told_with_its_person_and_reason(session: Session) -> None:
    one, other = course_in(session, "west"), course_in(session, "east")
    for course in (one, other):
        course.post(0.25, 0.5)
        for row in course.rows():
            row.said, row.next = "no", None
    one.rows()[1].next = NOW
    remove_members(session, one.class_id, [one.persons[1]])
    session.commit()
    found = outbox.unsent_of(session, one.class_id, 9)
    assert [(score.name, score.title, score.receipt.state, score.receipt.share) for score in found] == [
        ("west Ada", "Week of west", "refused", 0.25), ("a former member", "Week of west", "waiting", 0.5),
    ]  # fmt: skip
    assert len(outbox.unsent_of(session, one.class_id, 1)) == 1
    counts = outbox.sending_of(session, one.class_id)
    assert (counts.arrived, counts.waiting, counts.refused, counts.computing) == (0, 1, 1, 1)
    (receipt,) = outbox.receipts(session, one.assignment, one.persons[0])
    assert (receipt.platform, receipt.state, receipt.sent, receipt.said) == ("LMS west", "refused", None, "no")
    one.rows()[0].said = ""
    session.commit()
    assert outbox.receipts(session, one.assignment, one.persons[0])[0].state == "arrived"
    assert outbox.receipts(session, one.assignment, other.persons[0]) == []


def test_the_courses_that_a_class_is_are_named_by_their_title(course: Course) -> None:
    for context, title in (("c2", ""), ("c1", "Systems")):
        row = ContextRow(
            platform=course.platform, deployment="1", context=context, class_id=course.class_id, title=title
        )
        row.memberships_url = f"https://x/{context}"
        course.session.add(row)
    course.session.flush()
    ties = outbox.ties_of(course.session, course.class_id)
    assert [(one.title, one.memberships, one.platform) for one in ties] == [
        ("Systems", "https://x/c1", "LMS one"), ("c2", "https://x/c2", "LMS one"),
    ]  # fmt: skip
    assert outbox.ties_of(course.session, 10**6) == []


def test_points_are_computed_again_after_a_change_at_the_same_moment_or_later(course: Course) -> None:
    assert course.assignment in outbox.find_unposted(course.session)
    course.post(0.5, at=NOW)
    assert course.assignment in outbox.find_unposted(course.session), "of some persons alone"
    for changed, behind in ((NOW - 11 * SECOND, False), (NOW - 10 * SECOND, True), (NOW, True)):
        course.session.get_one(AssignmentRow, course.assignment).changed = changed
        course.post(0.5, at=NOW, everyone=True)
        assert (course.assignment in outbox.find_unposted(course.session)) is behind


def test_who_may_have_other_points_is_found_again_for_a_minute_and_then_not_anymore(course: Course) -> None:
    """Rows are not committed in the order of their numbers."""
    changes, session, (ada, bo) = Changes(), course.session, course.persons
    changes.skip(session, NOW)
    number = course.answer(0, RING, 0.5)
    course.answer(1, "a/other", 0.5)

    def found(seconds: float) -> dict[int, set[int]]:
        return dict(changes.since(session, NOW + seconds * SECOND))

    assert [found(seconds) for seconds in (10, 70, 71)] == [{course.assignment: {ada}}] * 2 + [{}]
    session.add(RegradeRow(attempt=number, digest="n", score=1.0, correct=True, at=NOW + 80 * SECOND))
    override(session, assignment_with(session, course.assignment), [Override(bo, RING, 1.0)], "Ada", "oral")
    session.flush()
    assert found(81) == {course.assignment: {ada, bo}}
    assert [found(seconds) for seconds in (150, 220)] == [{course.assignment: {ada, bo}}, {course.assignment: {ada}}]
    assert found(300) == {}
