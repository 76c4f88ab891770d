"""The live page and the pools of an assignment, as values: which one is shown, who is how far, what was drawn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from sqlmodel import Session
from starlette.datastructures import FormData

from app.classes.pages.class_router import AssignmentVisit
from app.classes.pages.live import PoolForm, change_pools, idea_html, link_to, live_page, pools_page
from app.classes.people.assignments import AssignmentEntry, assignment_with, create_assignment
from app.classes.people.classes import enroll, number_of
from app.classes.people.persons import new_person
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.course.kinds.base import mistake_key
from app.server.db.session import open_writing_session
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, STAGE, Crowd, crowd_of
from tests.web.a_class import assignment_visit, visit

NOW = datetime(2036, 10, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
OPEN, OVER = Policy(), Policy(due=NOW - DAY, closes=NOW - HOUR)


@each(
    ("policies", "shown"),
    [
        ([], 0),
        ([OPEN, OPEN], 2),
        ([Policy(due=NOW + 2 * DAY), Policy(due=NOW + DAY), OPEN], 2),
        ([Policy(due=NOW + DAY), Policy(due=NOW + DAY)], 1),
        ([OVER, OPEN, OVER], 2),
        ([OVER, OVER], 2),
        ([Policy(due=NOW + 3 * DAY), Policy(opens=NOW + HOUR, due=NOW + DAY)], 1),
        ([Policy(due=NOW - DAY), OPEN], 2),
        ([Policy(due=NOW + 3 * DAY), Policy(due=NOW + DAY, closes=NOW + DAY, sitting=45)], 2),
    ],
)
def test_the_open_assignment_that_is_due_next_is_shown_else_the_latest(
    site: Site, policies: list[Policy], shown: int
) -> None:
    at = replace(site, clock=lambda: NOW)
    crowd = crowd_of(site, policy=Policy(opens=NOW + 99 * DAY))
    with open_writing_session(site.engine) as session:
        numbers = [0] + [
            create_assignment(session, crowd.class_id, f"Week {place}", policy, [AssignmentEntry(RING, 1.0)])
            for place, policy in enumerate(policies, 1)
        ]
        page = live_page(visit(at, session, crowd.class_id, crowd.persons["Ada Teacher"]))
        here = [urlsplit(one.href).query for one in page.choices if one.here]
        assert here == [f"assignment={numbers[shown] if shown else crowd.assignment.id}"]
        assert (page.title, page.at) == (f"Week {shown}" if shown else "Week 1", "14:00:00")
        session.rollback()


def test_an_assignment_that_is_open_for_a_group_alone_is_open(site: Site) -> None:
    at = replace(site, clock=lambda: NOW)
    crowd = crowd_of(site, policy=Policy(due=NOW - 2 * DAY, closes=NOW - DAY))
    with open_writing_session(site.engine) as session:
        create_assignment(session, crowd.class_id, "Week 2", OVER, [AssignmentEntry(RING, 1.0)])
        entries, late = [AssignmentEntry(RING, 1.0)], GroupDates(group="Late", due=NOW + DAY, closes=NOW + DAY)
        create_assignment(session, crowd.class_id, "Week 3", OVER, entries, [late])
        create_assignment(session, crowd.class_id, "Week 4", OVER, entries)
        teacher = visit(at, session, crowd.class_id, crowd.persons["Ada Teacher"])
        assert live_page(teacher).title == "Week 3"
        assert live_page(teacher, str(crowd.assignment.id)).title == "Week 1"
        for wrong in ("0", f"0{crowd.assignment.id}", "x"):
            with pytest.raises(NotFoundError):
                live_page(teacher, wrong)
        session.rollback()


def states(site: Site, session: Session, crowd: Crowd, names: str = "") -> list[tuple[str, int, float, float, object]]:
    page = live_page(visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"]), "", names)
    return [(one.state, one.count, one.start, one.width, one.names) for one in page.rows[0].counts]


def test_each_state_has_its_part_of_the_bar_and_its_names_if_they_are_asked_for(site: Site) -> None:
    crowd, now = crowd_of(site, "bo", "Cleo", "Dan", "Eve"), site.clock() - timedelta(minutes=1)
    key = next(mistake_key(text) for where, text in site.catalog.exercise(RING).texts() if where[0] == "mistakes")
    crowd.answers("Cleo", RING, now, right=True)
    for name in ("bo", "Dan"):
        crowd.answers(name, RING, now, right=False, key=key)
    with open_writing_session(site.engine) as session:
        bar = [("solved", 1, 0.0, 25.0), ("stuck", 0, 25.0, 0.0), ("trying", 2, 25.0, 50.0), ("new", 1, 75.0, 25.0)]
        assert states(site, session, crowd) == [(*one, ()) for one in bar]
        names = (("Cleo",), (), ("bo", "Dan"), ("Eve",))
        assert states(site, session, crowd, "yes") == [(*one, those) for one, those in zip(bar, names, strict=True)]
        page = live_page(visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"]), "", "yes")
    assert (page.students, page.begun, page.named) == (4, 3, True)
    (idea,) = page.rows[0].ideas
    assert (idea.persons, round(idea.share, 9)) == (2, round(2 / 3, 9))
    number = str(crowd.assignment.id)
    assert dict(parse_qsl(urlsplit(page.names).query)) == {"assignment": number}
    assert dict(parse_qsl(urlsplit(page.again).query)) == {"assignment": number, "names": "yes"}


def test_of_many_names_sixty_are_shown_by_the_alphabet(site: Site) -> None:
    crowd = crowd_of(site)
    with open_writing_session(site.engine) as session:
        for place in reversed(range(61)):
            person = new_person(session, f"S{place:02}")
            enroll(session, crowd.class_id, number_of(person))
        page = live_page(visit(site, session, crowd.class_id, crowd.persons["Ada Teacher"]), "", "yes")
        *_, new = page.rows[0].counts
        assert (new.count, len(new.names), new.names[0], new.names[-1], new.more) == (61, 60, "S00", "S59", 1)
        session.rollback()


def test_an_idea_or_an_exercise_that_is_gone_is_said_to_be(site: Site) -> None:
    exercise = site.catalog.exercise(RING)
    key = next(mistake_key(text) for where, text in exercise.texts() if where[0] == "mistakes")
    gone = "A mistake that the exercise no longer lists"
    assert idea_html(None, key) == gone
    assert idea_html(exercise, "0123456789ab") == gone
    assert idea_html(exercise, key) not in ("", gone)
    assert (link_to(site, RING, 7).text, link_to(site, RING, 7).href) == (exercise.title, f"/exercises/{RING}?seed=7")
    assert (link_to(site, "pack/gone").text, link_to(site, "pack/gone").href) == ("pack/gone", "/exercises/pack/gone")


def test_the_form_of_pools_offers_one_more_than_there_are_and_at_least_three(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:

        def teacher() -> AssignmentVisit:
            stored = assignment_with(session, crowd.assignment.id)
            return assignment_visit(site, session, stored, crowd.persons["Ada Teacher"])

        page = pools_page(teacher())
        assert (page.draws, page.students, page.more) == ((("1", ""), ("2", ""), ("3", "")), (), 0)
        assert [(one.exercise, one.points, one.pool) for one in page.entries] == [(RING, 1.0, ""), (STAGE, 4.0, "")]
        sent = PoolForm.read(
            FormData([("exercise", RING), ("pool-1", " 2 "), ("exercise", STAGE), ("draw-1", "9"), ("draw-2", " 1 ")])
        )
        assert (sent.pools, sent.draws) == ({RING: "2", STAGE: ""}, {"1": "9", "2": "1"})
        change_pools(teacher(), sent)
        stored = assignment_with(session, crowd.assignment.id)
        assert (stored.draws, [one.pool for one in stored.entries]) == ((1,), [1, 0])
        page = pools_page(teacher())
        assert page.draws == (("1", "1"), ("2", ""), ("3", ""))
        assert [(name, [link.href for link in links]) for name, links in page.students] == [
            ("Bo", [f"/exercises/{RING}"])
        ]
        again = pools_page(teacher(), PoolForm(pools={}, draws={"7": "2"}))
        assert again.draws == (("1", ""), ("2", ""), ("3", ""), ("7", "2"))
        change_pools(teacher(), PoolForm(pools={STAGE: "3"}, draws={"1": "1", "3": "1"}))
        stored = assignment_with(session, crowd.assignment.id)
        assert [one.pool for one in stored.entries] == [1, 2], "what is not asked about stays where it is"
        assert pools_page(teacher()).draws == (("1", "1"), ("2", "1"), ("3", ""))
        for text in ("1000", "-1", "x", "٣"):
            with pytest.raises(InputError, match="whole numbers"):
                change_pools(teacher(), PoolForm(pools={RING: text}, draws={}))
        session.rollback()
