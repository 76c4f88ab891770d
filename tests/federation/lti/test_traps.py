"""Traps of learning platforms that other tools fell into; each has a test here or beside its part."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, col, select
from starlette.responses import JSONResponse, Response

from app.classes.federation.lti.enrollment import enroll_launch, new_class, tie
from app.classes.federation.lti.launch_message import Launch
from app.classes.federation.lti.platforms import Platform, register_platform
from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.policy import Policy
from app.server.db.migrations import migrate
from app.server.db.people import IdentityRow, LinkRow
from app.server.db.session import connect, open_session, open_writing_session
from tests.federation.lti.fake_platform import FakePlatform, fake_platform
from tests.federation.lti.test_outbox import EXERCISE, SECRET, Course, course_of
from tests.waiting import until


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    database = f"sqlite:///{tmp_path_factory.mktemp('traps') / 'wallclock.db'}"
    migrate(database)
    made = connect(database)
    yield made
    made.dispose()


@pytest.fixture
def course(engine: Engine, loop: asyncio.AbstractEventLoop) -> Iterator[tuple[Course, FakePlatform]]:
    with fake_platform() as platform:
        yield course_of(engine, platform, loop, 1, Policy()), platform


def registered(session: Session, name: str) -> int:
    url = f"https://{name}.example"
    row = Platform(name=name, issuer=url, client_id="c", auth_url=url, token_url=url, jwks_url=url)
    return register_platform(session, row).id


def launch(platform: int, **changed: Any) -> Launch:
    given = {
        "platform": platform,
        "deployment": "1",
        "subject": "7",
        "role": "teacher",
        "context": "c",
        "title": "A course",
        "link": "r1",
    }
    return Launch(**{**given, **changed})


def test_a_score_is_final_whatever_it_is(course: tuple[Course, FakePlatform]) -> None:
    """Open edX publishes nothing else, and elsewhere a score that is not final waits for a hand."""
    held, platform = course
    for share in (0.0, 0.5):
        held.answer(0, share)
        held.settle()
        sent = platform.scores[-1]
        assert (sent["scoreGiven"], sent["scoreMaximum"]) == (share * 4, 4.0)
        assert (sent["gradingProgress"], sent["activityProgress"]) == ("FullyGraded", "Completed")
        assert sent["userId"] == "s0"
        held.now = held.now.replace(hour=held.now.hour + 1)


def test_a_slow_platform_holds_up_no_other(
    course: tuple[Course, FakePlatform], engine: Engine, loop: asyncio.AbstractEventLoop
) -> None:
    held, slow = course
    slow.held = True
    held.answer(0)
    with fake_platform() as fast:
        other = course_of(engine, fast, loop, 1, Policy(), alone=False)
        other.answer(0)

        async def until_one_has_arrived() -> bool:
            tasks = await held.courier().look()
            await until(lambda: fast.scores)
            waits = not slow.scores
            slow.held = False
            await asyncio.gather(*tasks)
            return waits

        assert loop.run_until_complete(until_one_has_arrived())
        assert (len(fast.scores), len(slow.scores)) == (1, 1)


def test_a_line_item_at_an_inside_address_is_never_asked(course: tuple[Course, FakePlatform]) -> None:
    held, platform = course
    inside = {"id": "http://169.254.169.254/items/1", "tag": "wallclock", "resourceLinkId": "r1"}

    def odd(name: str) -> Response | None:
        return JSONResponse([inside]) if name == "items" else None

    platform.odd = odd
    held.answer(0)
    held.settle()
    (row,) = held.rows()
    assert row.sent_at is None
    assert "169.254.169.254" in row.said


def test_the_place_of_scores_is_that_of_the_last_launch(engine: Engine) -> None:
    with open_writing_session(engine) as session:
        here = registered(session, "places")
        first = launch(here, lineitem="https://places.example/1", lineitems="https://places.example/all")
        class_id = new_class(session, SECRET, first, "UTC")
        tie(session, first, class_id)
        number = create_assignment(session, class_id, "Week", Policy(), [AssignmentEntry(EXERCISE, 1.0)])
        session.commit()
        places = ("https://places.example/1", "", "https://places.example/2")
        found = []
        for place in places:
            enroll_launch(session, launch(here, assignment=number, lineitem=place))
            link = session.exec(select(LinkRow).where(LinkRow.platform == here)).one()
            found.append((link.lineitem_url, link.item_digest))
            link.item_digest = "told"
            session.add(link)
            session.commit()
    assert found == [(places[0], ""), (places[0], "told"), (places[2], "")]


def test_a_subject_is_another_person_on_another_platform(engine: Engine) -> None:
    persons = set()
    with open_session(engine) as session:
        for name in ("north", "south"):
            one = launch(registered(session, name))
            tie(session, one, new_class(session, SECRET, one, "UTC"))
            persons |= {enroll_launch(session, one).person for _ in range(2)}
        known = session.exec(select(IdentityRow).where(col(IdentityRow.person).in_(persons))).all()
    assert len(persons) == 2
    assert [one.subject for one in known] == ["7", "7"]
