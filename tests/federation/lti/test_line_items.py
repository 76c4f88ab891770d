"""Line items of platforms: points and dates of an assignment that are changed later."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlmodel import select
from starlette.responses import Response

from app.classes.federation.lti.scores import terms_of
from app.classes.federation.lti.tool import _item
from app.classes.people.assignments import AssignmentEntry, assignment_with, change_assignment
from app.classes.people.policy import GroupDates, Policy
from app.server.db.migrations import migrate
from app.server.db.people import LinkRow
from app.server.db.session import connect, open_session
from tests.federation.lti.fake_platform import FakePlatform, fake_platform
from tests.federation.lti.test_outbox import EXERCISE, START, Course, course_of

DAY = timedelta(days=1)
DUE = datetime(2026, 12, 1, 22, 59, tzinfo=UTC)
POLICY = Policy(due=DUE, closes=DUE + timedelta(days=3))


@pytest.fixture(scope="module")
def platform() -> Iterator[FakePlatform]:
    with fake_platform() as made:
        yield made


@pytest.fixture
def course(
    platform: FakePlatform, tmp_path_factory: pytest.TempPathFactory, loop: asyncio.AbstractEventLoop
) -> Iterator[Course]:
    url = platform.url
    platform.__init__()  # type: ignore[misc]  # as new
    platform.url = url
    database = f"sqlite:///{tmp_path_factory.mktemp('items') / 'wallclock.db'}"
    migrate(database)
    engine = connect(database)
    made = course_of(engine, platform, loop, 1, POLICY)
    made.answer(0)
    made.settle()
    yield made
    engine.dispose()


def changed(course: Course, policy: Policy, points: Sequence[float]) -> None:
    others = (EXERCISE, "memory/zero-stage-1")
    with open_session(course.engine) as session:
        entries = [AssignmentEntry(name, worth) for name, worth in zip(others, points, strict=False)]
        change_assignment(session, course.assignment, "Another title", policy, entries)
        session.commit()


def looks_again(course: Course, minutes: float = 1) -> None:
    course.now += timedelta(minutes=minutes)
    course.settle()


def test_a_line_item_is_made_with_the_dates_of_the_assignment(course: Course, platform: FakePlatform) -> None:
    (item,) = platform.items
    assert (item["scoreMaximum"], item["endDateTime"]) == (4.0, "2026-12-01T22:59:00.000Z")
    assert "startDateTime" not in item
    looks_again(course)
    assert platform.changed == 0  # it says that already


def test_points_and_dates_that_change_later_arrive_and_all_else_stays(course: Course, platform: FakePlatform) -> None:
    (item,) = platform.items
    item |= {"label": "renamed by the teacher", "https://lms.example/extra": 7}
    changed(course, replace(POLICY, opens=START, due=DUE + timedelta(days=1)), [4.0, 2.5])
    looks_again(course)
    assert (item["scoreMaximum"], item["startDateTime"]) == (6.5, "2026-11-02T09:00:00.000Z")
    assert item["endDateTime"] == "2026-12-02T22:59:00.000Z"
    assert (item["label"], item["https://lms.example/extra"]) == ("renamed by the teacher", 7)
    assert platform.scores[-1]["scoreMaximum"] == 6.5
    changed(course, Policy(), [4.0])
    looks_again(course)
    assert (item["scoreMaximum"], "endDateTime" in item, "startDateTime" in item) == (4.0, False, False)
    looks_again(course)
    assert platform.changed == 2


def test_a_line_item_of_several_groups_is_open_from_the_first_to_the_last(course: Course) -> None:
    with open_session(course.engine) as session:
        one = assignment_with(session, course.assignment)
    policy = replace(one.policy, opens=START, due=DUE)
    early = GroupDates(group="Monday", opens=START - DAY, due=DUE - DAY)
    late = GroupDates(group="Tuesday", opens=START + DAY, due=DUE + DAY)
    terms = terms_of(replace(one, policy=policy, groups=(early, late)))
    assert (terms.opens, terms.due) == (START - DAY, DUE + DAY)
    terms = terms_of(replace(one, policy=Policy(), groups=(early,)))
    assert (terms.opens, terms.due) == (None, None)


def test_a_line_item_of_the_teacher_is_left_alone(course: Course, platform: FakePlatform) -> None:
    (item,) = platform.items
    item["tag"] = "by hand"
    changed(course, POLICY, [9.0])
    looks_again(course)
    assert (item["scoreMaximum"], platform.changed) == (4.0, 0)


@pytest.mark.parametrize("call", ["read", "change"])
def test_a_platform_that_refuses_is_asked_once_and_one_that_is_down_again(
    course: Course, platform: FakePlatform, call: str
) -> None:
    asked = []

    def answers(status: int) -> None:
        def odd(name: str) -> Response | None:
            asked.append(name)
            return Response("no", status) if name == call else None

        platform.odd = odd

    answers(503)
    changed(course, POLICY, [7.0])
    courier = course.courier()
    course.settle(courier)
    assert asked.count(call) == 1
    course.now += timedelta(seconds=30)
    course.settle(courier)
    assert asked.count(call) == 1  # it is left alone
    answers(422)
    for _ in range(3):
        course.now += timedelta(minutes=1)
        course.settle(courier)
    assert asked.count(call) == 2
    assert platform.items[0]["scoreMaximum"] == 4.0
    with open_session(course.engine) as session:
        assert session.exec(select(LinkRow)).one().item_digest


def test_a_chosen_assignment_brings_its_dates_along(course: Course) -> None:
    with open_session(course.engine) as session:
        found = assignment_with(session, course.assignment)
    item = _item(found, "https://wallclock.example")
    assert item["submission"] == {"endDateTime": "2026-12-01T22:59:00.000Z"}
    undated = _item(replace(found, policy=Policy()), "https://wallclock.example")
    assert "submission" not in undated
