"""Scores on their way to a platform that refuses, fails and forgets."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine
from sqlmodel import col, select
from starlette.responses import Response

from app.classes.federation import outbox
from app.classes.federation.delivery import Courier
from app.classes.federation.http_client import Outgoing
from app.classes.federation.lti.enrollment import participants
from app.classes.federation.lti.platforms import Platform, platforms, register_platform
from app.classes.federation.lti.scores import Services
from app.classes.federation.outbox import EarnedShare, receipts, sending_of, unsent_of
from app.classes.people.assignments import AssignmentEntry, change_assignment, create_assignment
from app.classes.people.classes import create_class, enroll, number_of
from app.classes.people.counted_answers import variant_seed
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.core.errors import RefusedError
from app.server.db.migrations import migrate
from app.server.db.people import AssignmentRow, ExtensionRow, IdentityRow, LinkRow, OutboxRow, OverrideRow, RegradeRow
from app.server.db.session import connect, open_session
from app.server.db.tables import AttemptRow
from tests.federation.lti.fake_platform import FakePlatform, fake_platform

SECRET = "a secret of sixteen characters and more"
START = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
EXERCISE = "collectives/ring-all-reduce-time"
ANOTHER = "collectives/bytes-sent-by-a-ring"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('outbox') / 'wallclock.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def server() -> Iterator[FakePlatform]:
    with fake_platform() as made:
        yield made


@pytest.fixture
def platform(server: FakePlatform) -> FakePlatform:
    url = server.url
    server.__init__()  # type: ignore[misc]  # as new
    server.url = url
    return server


async def settle(courier: Courier) -> None:
    """Look once, and wait until everything that is due has been tried."""
    await asyncio.gather(*await courier.look())


@dataclass
class Course:
    """A class of *people* that a link of the platform opens, and a clock that a test sets."""

    engine: Engine
    class_id: int
    assignment: int
    link: int
    persons: list[int]
    learners: list[str]
    loop: asyncio.AbstractEventLoop
    now: datetime = START

    def courier(self) -> Courier:
        services = Services(Outgoing(private={"127.0.0.1"}), self.engine)
        return Courier(self.engine, SECRET, services, lambda: self.now)

    def settle(self, courier: Courier | None = None) -> None:
        self.loop.run_until_complete(settle(courier or self.courier()))

    def answer(self, place: int, score: float = 1.0) -> int:
        learner = self.learners[place]
        seed = variant_seed(SECRET, self.assignment, EXERCISE, learner)
        with open_session(self.engine) as session:
            row = AttemptRow(
                learner=learner,
                exercise=EXERCISE,
                seed=seed,
                answer="1",
                correct=score == 1,
                score=score,
                digest="d",
                drawn="{}",
                at=self.now,
            )
            session.add(row)
            session.commit()
            return row.id or 0

    def rows(self) -> list[OutboxRow]:
        with open_session(self.engine) as session:
            found = select(OutboxRow).where(OutboxRow.link == self.link)
            return list(session.exec(found.order_by(col(OutboxRow.person))))


Make = Callable[..., Course]


@pytest.fixture
def course(engine: Engine, platform: FakePlatform, loop: asyncio.AbstractEventLoop) -> Make:
    def made(people: int, policy: Policy | None = None) -> Course:
        return course_of(engine, platform, loop, people, policy or Policy())

    return made


def course_of(
    engine: Engine,
    platform: FakePlatform,
    loop: asyncio.AbstractEventLoop,
    people: int,
    policy: Policy,
    *,
    alone: bool = True,
) -> Course:
    with open_session(engine) as session:
        for row in session.exec(select(LinkRow)).all() if alone else []:  # of the tests before
            session.delete(row)
        made = create_class(session, SECRET, "A class")
        class_id = number_of(made)
        assignment = create_assignment(session, class_id, "Week 1", policy, [AssignmentEntry(EXERCISE, 4.0)])
        where = number_of(made)
        registered = register_platform(
            session,
            Platform(
                name=f"Campus {where}",
                issuer=f"https://lms.example/{where}",
                client_id="c",
                auth_url=f"{platform.url}/auth",
                token_url=f"{platform.url}/token",
                jwks_url=f"{platform.url}/keys",
            ),
        )
        link = LinkRow(
            platform=registered.id,
            deployment="1",
            resource_link="r1",
            assignment=assignment,
            lineitems_url=f"{platform.url}/items",
        )
        session.add(link)
        persons = [new_person(session, f"Student {n:03}") for n in range(people)]
        for place, person in enumerate(persons):
            number = person.id or 0
            enroll(session, class_id, number)
            session.add(IdentityRow(issuer=registered.identities, subject=f"s{place}", person=number))
        session.commit()
        return Course(
            engine, class_id, assignment, link.id or 0, [p.id or 0 for p in persons], [p.learner for p in persons], loop
        )


@pytest.mark.sweep
def test_of_300_scores_of_which_the_seventh_is_refused_299_arrive(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(300)
    platform.refused = {"s6"}
    for place in range(300):
        held.answer(place, 0.75)
    held.settle()
    assert len(platform.scores) == 299
    assert {one["scoreGiven"] for one in platform.scores} == {3.0}
    assert {one["scoreMaximum"] for one in platform.scores} == {4.0}
    with open_session(engine) as session:
        found = sending_of(session, held.class_id)
        (unsent,) = unsent_of(session, held.class_id, 10)
        assert (found.arrived, found.waiting) == (299, 1)
        assert unsent.name == "Student 006"
        assert "422" in unsent.receipt.said
        assert "this user is not in the course" in unsent.receipt.said
    for _ in range(5):  # it is tried again, and then it rests
        held.now += timedelta(minutes=5)
        held.settle()
    with open_session(engine) as session:
        assert sending_of(session, held.class_id).refused == 1
        (receipt,) = receipts(session, held.assignment, held.persons[6])
        assert (receipt.state, receipt.next) == ("refused", None)
        platform.refused = set()
        assert outbox.send_again(session, held.assignment, held.persons[6], held.now) == 1
    held.settle()
    assert len(platform.scores) == 300
    assert len(platform.items) == 1, "300 scores at once make one line item"
    assert platform.most <= 4


def test_a_platform_that_is_down_gets_its_scores_later(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(50)
    for place in range(50):
        held.answer(place)
    platform.odd = lambda name: Response("down for maintenance", 503)
    held.settle()
    rows = held.rows()
    tried = [row for row in rows if row.tries]
    assert 0 < len(tried) <= 4, "the others wait without a try"
    assert {row.said for row in tried} == {"127.0.0.1 answered 503 (down for maintenance)"}
    assert all(row.next and row.next > held.now for row in rows)
    platform.odd = lambda name: None
    held.now += timedelta(minutes=2)
    held.settle()
    assert len(platform.scores) == 50
    assert {row.said for row in held.rows()} == {""}


def test_a_restart_in_the_middle_loses_no_score(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(3)
    for place in range(3):
        held.answer(place)
    before = held.courier()
    before._post()
    with open_session(engine) as session:  # taken, then the server was killed
        (first, *_) = outbox.due_scores(session, session.exec(select(LinkRow)).one().platform, held.now, 9)
        assert outbox.claim_score(session, first, held.now)
    held.settle()
    assert len(platform.scores) == 2
    held.now += outbox.LEASE
    held.settle()
    assert len(platform.scores) == 3
    held.now += timedelta(minutes=1)
    held.settle()
    assert len(platform.scores) == 3, "what has arrived is not sent again"


def test_two_servers_send_each_score_once(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(16)
    for place in range(16):
        held.answer(place)

    async def both() -> None:
        await asyncio.gather(settle(held.courier()), settle(held.courier()))

    held.loop.run_until_complete(both())
    held.now += timedelta(hours=1)  # what a busy machine was too slow for is tried again
    held.settle()
    assert sorted(one["userId"] for one in platform.scores) == sorted(f"s{n}" for n in range(16))


def test_a_score_is_always_later_than_the_one_before(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(1)
    held.answer(0, 0.25)
    held.settle()
    held.answer(0, 0.5)
    held.now -= timedelta(hours=1)  # a clock that was set back
    held.settle()
    assert len(platform.scores) == 1
    with open_session(engine) as session:
        outbox.send_again(session, held.assignment, held.persons[0], held.now)
    held.settle()
    sent = [(one["scoreGiven"], one["timestamp"]) for one in platform.scores]
    assert [score for score, _ in sent] == [1.0, 2.0]
    assert sent[0][1] == "2026-11-02T09:00:00.000Z"
    assert sent[1][1] > sent[0][1]


def test_an_unchanged_score_is_sent_once_and_a_new_one_when_it_changes(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(2)
    courier = held.courier()
    held.settle(courier)
    assert held.rows() == [], "a person without an answer has no score"
    attempt = held.answer(0, 0.5)
    for _ in range(3):
        held.now += timedelta(seconds=5)
        held.settle(courier)
    assert [one["scoreGiven"] for one in platform.scores] == [2.0]
    for _ in range(4):  # the answer is not new anymore
        held.now += timedelta(minutes=1)
        held.settle(courier)
    with open_session(engine) as session:
        session.add(RegradeRow(attempt=attempt, digest="mended", score=1.0, correct=True, at=held.now))
        session.add(OverrideRow(assignment=held.assignment, person=held.persons[1], exercise=EXERCISE, points=3.0))
        session.commit()
    held.now += timedelta(seconds=5)
    held.settle(courier)
    assert sorted((one["userId"], one["scoreGiven"]) for one in platform.scores) == [
        ("s0", 2.0),
        ("s0", 4.0),
        ("s1", 3.0),
    ]


def test_an_extension_over_a_closed_date_sends_the_points(engine: Engine, platform: FakePlatform, course: Make) -> None:
    due = START - timedelta(days=2)
    held = course(1, Policy(zone=ZoneInfo("Europe/Berlin"), due=due, closes=due))
    courier = held.courier()
    held.answer(0)
    held.settle(courier)
    assert platform.scores == []  # it came too late to count
    with open_session(engine) as session:
        session.add(
            ExtensionRow(
                assignment=held.assignment, person=held.persons[0], until=START + timedelta(days=1), at=held.now
            )
        )
        session.commit()
    held.now += timedelta(seconds=5)
    held.settle(courier)
    assert [one["scoreGiven"] for one in platform.scores] == [4.0]


def test_points_that_students_do_not_see_yet_are_not_sent(engine: Engine, platform: FakePlatform, course: Make) -> None:
    due = START + timedelta(days=1)
    held = course(1, Policy(due=due, show_points=False))
    held.answer(0)
    held.settle()
    assert held.rows() == []
    held.now = due + timedelta(seconds=1)
    held.settle()
    assert [one["scoreGiven"] for one in platform.scores] == [4.0]


def test_a_token_that_the_platform_forgot_is_replaced(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(2)
    courier = held.courier()
    held.answer(0)
    held.settle(courier)
    platform.valid = "another"
    held.answer(1)
    held.now += timedelta(seconds=5)
    held.settle(courier)
    assert len(platform.scores) == 2


def test_a_line_item_that_is_gone_is_made_again(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(2)
    courier = held.courier()
    held.answer(0)
    held.settle(courier)
    platform.items.clear()
    held.answer(1)
    held.now += timedelta(seconds=5)
    held.settle(courier)
    assert [one["userId"] for one in platform.scores] == ["s0", "s1"]
    assert [one["label"] for one in platform.items] == ["Week 1"]


@pytest.mark.parametrize(
    ("where", "odd", "says"),
    [
        ("items", Response("<html>Log in</html>", 200), "answered 200 without JSON (<html>Log in</html>)"),
        ("items", Response("{}", 200), "without a list of line items"),
        ("token", Response('{"error": "invalid_client"}', 400), "gives no token"),
        ("token", Response("[]", 200), "without a JSON object"),
        ("token", Response('{"token_type": "bearer"}', 200), "without its access_token"),
        ("make", Response("x" * 300_000, 201), "more than 262,144 bytes"),
        ("score", Response("no", 302, {"Location": "http://127.0.0.1/"}), "answered 302"),
    ],
)
def test_nonsense_of_a_platform_is_told_and_tried_again(
    engine: Engine, platform: FakePlatform, course: Make, where: str, odd: Response, says: str
) -> None:
    held = course(1)
    held.answer(0)
    platform.odd = lambda name: odd if name == where else None
    held.settle()
    (row,) = held.rows()
    assert says in row.said
    assert row.next
    platform.odd = lambda name: None
    held.now += timedelta(minutes=2)
    held.settle()
    assert len(platform.scores) == 1


def test_an_open_line_item_is_found_and_not_made_twice(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(1)
    platform.items = [{"id": f"{platform.url}/items/0", "tag": "wallclock", "resourceLinkId": "r1", "label": "By hand"}]
    held.answer(0)
    held.settle()
    assert len(platform.items) == 1
    assert len(platform.scores) == 1


def test_a_link_without_a_place_for_grades_says_what_to_do(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(1)
    with open_session(engine) as session:
        link = session.exec(select(LinkRow)).one()
        link.lineitems_url = ""
        session.add(link)
        session.commit()
    held.answer(0)
    held.settle()
    assert "let the tool send grades in its settings there" in held.rows()[0].said


def test_a_score_that_changes_on_its_way_is_sent_again(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(1)
    held.answer(0, 0.25)
    courier = held.courier()
    courier._post()
    with open_session(engine) as session:
        (one,) = outbox.due_scores(session, session.exec(select(LinkRow)).one().platform, held.now, 9)
        assert outbox.claim_score(session, one, held.now)
        assert not outbox.claim_score(session, one, held.now), "another server may not take it"
        outbox.post(session, held.assignment, {held.persons[0]: EarnedShare(0.5, None)}, held.now)
        outbox.note_arrival(session, one, held.now)
        (receipt,) = receipts(session, held.assignment, held.persons[0])
    assert (receipt.state, receipt.share, receipt.sent) == ("waiting", 0.5, 0.25)


def test_a_page_of_the_roster_elsewhere_does_not_get_our_token(
    engine: Engine, platform: FakePlatform, course: Make, loop: asyncio.AbstractEventLoop
) -> None:
    course(1)
    with open_session(engine) as session:
        registered = platforms(session)[-1]
    services = Services(Outgoing(private={"127.0.0.1"}), engine)
    with pytest.raises(RefusedError, match="goes on at https://elsewhere.example"):
        loop.run_until_complete(participants(services, registered, f"{platform.url}/members"))


def test_other_points_reach_the_platform_at_the_next_look(engine: Engine, platform: FakePlatform, course: Make) -> None:
    held = course(2)
    held.answer(0, 0.5)
    courier = held.courier()
    held.settle(courier)
    with open_session(engine) as session:
        assert sending_of(session, held.class_id).computing == 0
        given = [AssignmentEntry(EXERCISE, 4.0), AssignmentEntry(ANOTHER, 4.0)]
        change_assignment(session, held.assignment, "Week 1", Policy(), given)
        row = session.get(AssignmentRow, held.assignment)
        assert row is not None
        row.changed = held.now + timedelta(seconds=1)
        session.commit()
        assert sending_of(session, held.class_id).computing == 1
    held.now += timedelta(seconds=3)
    held.settle(courier)
    assert [one["scoreGiven"] for one in platform.scores] == [2.0, 2.0]
    assert [one["scoreMaximum"] for one in platform.scores] == [4.0, 8.0]
    held.now += timedelta(seconds=30)
    held.settle(courier)
    with open_session(engine) as session:
        assert sending_of(session, held.class_id).computing == 0


def test_a_new_link_gets_the_points_that_are_there_at_the_next_look(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(1)
    held.answer(0)
    courier = held.courier()
    held.settle(courier)
    with open_session(engine) as session:
        first = session.get(LinkRow, held.link)
        assert first is not None
        session.add(
            LinkRow(
                platform=first.platform,
                deployment="1",
                resource_link="r2",
                assignment=held.assignment,
                lineitems_url=first.lineitems_url,
            )
        )
        session.commit()
        assert sending_of(session, held.class_id).computing == 1
    held.now += timedelta(seconds=3)
    held.settle(courier)
    assert len(platform.scores) == 2


def test_a_score_says_when_the_answer_that_counts_was_given(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(1)
    held.answer(0, 0.75)
    held.now += timedelta(hours=1)
    held.answer(0, 0.5)
    held.now += timedelta(days=9)  # as after a regrade, or where the platform was down
    held.settle()
    (score,) = platform.scores
    assert score["timestamp"] == "2026-11-11T10:00:00.000Z"
    assert score["submission"] == {"submittedAt": "2026-11-02T09:00:00.000Z"}
    assert score["https://canvas.instructure.com/lti/submission"] == {
        "new_submission": False,
        "submitted_at": "2026-11-02T09:00:00.000Z",
    }


def test_a_platform_that_asks_for_a_moment_gets_it_and_no_more(
    engine: Engine, platform: FakePlatform, course: Make
) -> None:
    held = course(1)
    held.answer(0)
    platform.odd = lambda name: Response("busy", 429, {"Retry-After": "5"})
    held.settle()
    (row,) = held.rows()
    assert row.next == held.now + timedelta(seconds=5)
    platform.odd = lambda name: None
    held.now += timedelta(seconds=5)
    held.settle()
    assert len(platform.scores) == 1
