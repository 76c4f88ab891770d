"""Copies of assignments: what is copied, and where their dates come to be."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session

from app.classes.people.assignment_copies import (
    chosen_assignments,
    copies_digest,
    copies_of,
    copy_in_class,
    store_copies,
    weeks_to,
)
from app.classes.people.assignments import (
    Assignment,
    AssignmentEntry,
    assignment_with,
    assignments_of,
    create_assignment,
    delete_assignment,
)
from app.classes.people.classes import class_with, create_class, number_of, set_archived
from app.classes.people.gradebook import GradeRule, change_grade_rule
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.server.db.people import AssignmentRow

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
RING, TREE = "collectives/ring-all-reduce-time", "collectives/ring-or-tree"
KNOWN = {RING, TREE}


def local(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC)


def rules(due: str, **more: object) -> Policy:
    return replace(Policy(zone=BERLIN, due=local(due)), **more)  # type: ignore[arg-type]


def in_class(session: Session, *given: Policy, zone: str = "Europe/Berlin") -> int:
    class_id = number_of(create_class(session, "secret", "Systems", zone))
    entries = [AssignmentEntry(RING, 2.0), AssignmentEntry(TREE, 1.0)]
    for week, policy in enumerate(given, 1):
        create_assignment(session, class_id, f"Week {week}", policy, entries)
    return class_id


def copied(session: Session, source: int, weeks: int, zone: ZoneInfo = BERLIN) -> list[Assignment]:
    """The assignments of a new class that are copies of those of *source*."""
    target = in_class(session, zone=zone.key)
    store_copies(session, target, copies_of(chosen_assignments(session, source), weeks, zone, KNOWN))
    return list(assignments_of(session, target))


def test_a_copy_has_the_exercises_points_and_rules(session: Session) -> None:
    policy = rules("2026-10-02T23:59", late=0.1, attempts=3, hints="cost", show_points=False)
    source = in_class(session, policy)
    (before,) = assignments_of(session, source)
    (after,) = copied(session, source, 0)
    assert after.version == before.version
    assert after.id != before.id


def test_a_copy_weighs_what_the_assignment_weighs(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59"), rules("2026-10-09T23:59"))
    first, _ = assignments_of(session, source)
    row = class_with(session, source)
    change_grade_rule(session, row, GradeRule(0, {first.id: 7.5}))
    assert [one.weight for one in copied(session, source, 0)] == [7.5, None]


def test_clocks_show_the_same_time_also_where_they_were_changed_in_between(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59", opens=local("2026-09-25T08:00")))
    (after,) = copied(session, source, 26)
    assert after.policy.due == local("2027-04-02T23:59")
    assert after.policy.opens == local("2027-03-26T08:00")
    winter = copied(session, source, 10)[0].policy.due
    assert winter == datetime(2026, 12, 11, 22, 59, tzinfo=UTC)  # one hour from UTC, no longer two


def test_a_class_in_another_zone_gets_the_same_times_of_day(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59"))
    (after,) = copied(session, source, 1, NEW_YORK)
    assert after.policy.due == local("2026-10-09T23:59", NEW_YORK)


def test_a_time_that_clocks_skip_is_moved_and_said(session: Session) -> None:
    source = in_class(session, rules("2027-03-21T02:30"))
    (copy,) = copies_of(chosen_assignments(session, source), 1, BERLIN, KNOWN)
    assert copy.policy.due == local("2027-03-28T03:30")
    assert "skip 02:30" in copy.notes[0]


def test_the_first_date_comes_into_the_week_in_which_the_term_starts(session: Session) -> None:
    first = rules("2026-10-16T23:59", opens=local("2026-10-08T08:00"))  # a Thursday
    source = in_class(session, rules("2026-10-23T23:59"), first)
    chosen = chosen_assignments(session, source)
    for day, weeks in (("2026-10-05", 0), ("2026-10-11", 0), ("2027-04-12", 27), ("2026-10-04", -1)):
        assert weeks_to(chosen, date.fromisoformat(day)) == weeks, day
    assert weeks_to([], date(2027, 4, 12)) == 0
    late = in_class(session, rules("2026-10-12T00:30"))  # a Monday in Berlin, and still Sunday in London
    assert weeks_to(chosen_assignments(session, late), date(2026, 10, 12)) == 0


def test_of_an_archived_class_the_dates_are_copied_that_were_set(session: Session) -> None:
    source = in_class(session, rules("2098-10-02T23:59", closes=local("2099-01-01T12:00")))
    set_archived(session, class_with(session, source))
    (after,) = copied(session, source, 52)
    assert after.policy.closes == local("2099-12-31T12:00")


def test_exercises_that_are_gone_are_left_out_and_named(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59"))
    chosen = chosen_assignments(session, source)
    (copy,) = copies_of(chosen, 0, BERLIN, {TREE})
    assert ([one.exercise for one in copy.entries], copy.gone) == ([TREE], (RING,))
    with pytest.raises(InputError, match="exercises of Week 1 anymore"):
        copies_of(chosen, 0, BERLIN, set())


def test_what_cannot_be_copied_says_why(session: Session) -> None:
    source, other = (in_class(session, rules("2026-10-02T23:59")) for _ in range(2))
    theirs = assignments_of(session, other)[0].id
    with pytest.raises(NotFoundError, match=f"no assignment {theirs}"):
        chosen_assignments(session, source, [theirs])
    with pytest.raises(InputError, match="no assignments that could"):
        chosen_assignments(session, in_class(session))
    for weeks in (1_001, -1_001):
        with pytest.raises(InputError, match="at most 1,000 weeks"):
            copies_of(chosen_assignments(session, source), weeks, BERLIN, KNOWN)


def test_copies_over_several_terms_are_found_by_each_of_those_before(session: Session) -> None:
    first = in_class(session, rules("2026-10-02T23:59"))
    (one,) = assignments_of(session, first)
    (two,) = copied(session, first, 26)
    (three,) = copied(session, two.class_id, 26)
    for number in (one.id, two.id, three.id):
        assert copy_in_class(session, three.class_id, number) == three.id
    assert copy_in_class(session, two.class_id, three.id) == 0
    delete_assignment(session, two.id)
    assert copy_in_class(session, three.class_id, one.id) == three.id


def test_a_copy_of_an_assignment_whose_number_begins_alike_is_another(session: Session) -> None:
    first = in_class(session, rules("2026-10-02T23:59"))
    (one,) = assignments_of(session, first)
    (two,) = copied(session, first, 26)
    session.get_one(AssignmentRow, two.id).origins = f"{one.id}1 9{one.id}"
    assert copy_in_class(session, two.class_id, one.id) == 0
    assert copy_in_class(session, two.class_id, int(f"{one.id}1")) == two.id


def test_an_assignment_that_was_copied_in_its_own_class_stays_itself(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59"))
    (one,) = assignments_of(session, source)
    store_copies(session, source, copies_of([one], 1, BERLIN, KNOWN))
    assert copy_in_class(session, source, one.id) == one.id
    assert assignment_with(session, one.id) == one


def test_copies_move_a_thousand_weeks_at_most_and_only_those_that_are_chosen(session: Session) -> None:
    source = in_class(session, rules("2030-10-02T23:59"), rules("2030-10-09T23:59"))
    first, second = assignments_of(session, source)
    assert [one.id for one in chosen_assignments(session, source, [second.id])] == [second.id]
    for weeks in (1_000, -1_000):
        (copy,) = copies_of([first], weeks, BERLIN, KNOWN)
        assert copy.policy.due is not None
        assert copy.policy.due.astimezone(BERLIN).replace(tzinfo=None) == datetime(2030, 10, 2, 23, 59) + timedelta(
            weeks=weeks
        )
    with pytest.raises(InputError, match="the year must be from 2000"):
        copies_of([assignments_of(session, in_class(session, rules("2010-10-02T23:59")))[0]], -1_000, BERLIN, KNOWN)


def test_groups_move_along_and_a_pool_draws_no_more_than_is_left(session: Session) -> None:
    class_id = in_class(session)
    own = GroupDates(group="Monday", opens=local("2026-09-28T08:00"), due=local("2026-10-01T23:59"))
    entries = [AssignmentEntry(RING, 1.0, 1), AssignmentEntry(TREE, 1.0, 1)]
    create_assignment(session, class_id, "Week 1", rules("2026-10-09T23:59"), entries, [own], [2])
    chosen = chosen_assignments(session, class_id)
    (copy,) = copies_of(chosen, 1, BERLIN, {TREE})
    assert copy.groups == (GroupDates(group="Monday", opens=local("2026-10-05T08:00"), due=local("2026-10-08T23:59")),)
    assert (copy.draws, copy.gone, [one.exercise for one in copy.entries]) == ((1,), (RING,), [TREE])
    assert weeks_to(chosen, date(2026, 10, 5)) == 1, "the first date is that of the group"
    shown = copies_digest([copy])
    assert copies_digest(copies_of(chosen, 1, BERLIN, KNOWN)) != shown


def test_what_was_shown_is_another_after_a_change(session: Session) -> None:
    source = in_class(session, rules("2026-10-02T23:59"))
    chosen = chosen_assignments(session, source)
    shown = copies_digest(copies_of(chosen, 1, BERLIN, KNOWN))
    assert copies_digest(copies_of(chosen, 1, BERLIN, KNOWN)) == shown
    assert copies_digest(copies_of(chosen, 2, BERLIN, KNOWN)) != shown
