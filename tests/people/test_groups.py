"""Groups of a class: dates of their own, from rosters to grades."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlmodel import Session

from app.classes.people.assignment_copies import chosen_assignments, copies_of, store_copies, weeks_to
from app.classes.people.assignments import (
    MOST_GROUPS,
    Assignment,
    AssignmentEntry,
    assignment_with,
    assignments_of,
    change_assignment,
    change_groups,
    create_assignment,
)
from app.classes.people.classes import (
    Member,
    Role,
    class_with,
    create_class,
    enroll,
    members_of,
    number_of,
    set_archived,
)
from app.classes.people.counted_answers import begin_sitting, dates_for, dates_of_everyone, extend, variant_seed
from app.classes.people.csv_rosters import read_roster, write_roster
from app.classes.people.erasure import all_about
from app.classes.people.gradebook import cells_of
from app.classes.people.members import (
    class_groups,
    clean_group,
    dissolve_group,
    put_into_group,
    refuse_unknown_groups,
    rename_group,
)
from app.classes.people.merges import merge_persons, undo_merge
from app.classes.people.persons import new_person
from app.classes.people.policy import Dates, GroupDates, Policy, dates_of
from app.classes.people.rosters import apply, roster_difference
from app.core.errors import InputError, NotFoundError
from app.server.db.people import AssignmentRow, MemberRow, PersonRow
from app.server.db.tables import AttemptRow
from tests.each import each

SECRET, RING = "secret", "collectives/ring-all-reduce-time"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DUE = datetime(2026, 10, 2, 21, 59, tzinfo=UTC)
MONDAY = GroupDates(group="Monday", due=DUE - 3 * DAY)
GENERAL = Policy(opens=DUE - 9 * DAY, due=DUE, closes=DUE + DAY, late=0.1)


def room(session: Session, *groups: str) -> tuple[int, list[Member]]:
    """A class, and a student in each of *groups*."""
    class_id = number_of(create_class(session, SECRET, "Ring", "Europe/Berlin"))
    enroll(session, class_id, number_of(new_person(session, "Ada")), Role.TEACHER, "Ada")
    persons = [number_of(new_person(session, f"Student {place}")) for place in range(len(groups))]
    for person, group in zip(persons, groups, strict=True):
        enroll(session, class_id, person)
        put_into_group(session, class_id, [person], group)
    members = {one.person: one for one in members_of(session, class_id)}
    return class_id, [members[person] for person in persons]


def assigned(session: Session, class_id: int, policy: Policy, groups: tuple[GroupDates, ...] = (MONDAY,)) -> Assignment:
    entries = [AssignmentEntry(RING, 2.0)]
    number = create_assignment(session, class_id, "Week 1", policy, entries, groups)
    return assignment_with(session, number)


@each(
    ("own", "general", "opens", "due", "closes"),
    [
        # The close comes as long after the due date as for everyone.
        (MONDAY, GENERAL, DUE - 9 * DAY, DUE - 3 * DAY, DUE - 2 * DAY),
        (replace(MONDAY, due=DUE + 9 * DAY), GENERAL, DUE - 9 * DAY, DUE + 9 * DAY, DUE + 10 * DAY),
        (replace(MONDAY, closes=DUE), GENERAL, DUE - 9 * DAY, DUE - 3 * DAY, DUE),
        (GroupDates(group="Monday", opens=DUE), GENERAL, DUE, DUE, DUE + DAY),
        (GroupDates(group="Monday", closes=DUE + 2 * DAY), GENERAL, DUE - 9 * DAY, DUE, DUE + 2 * DAY),
        (MONDAY, Policy(), None, DUE - 3 * DAY, None),
        (MONDAY, Policy(closes=DUE), None, DUE - 3 * DAY, DUE),
        (replace(MONDAY, due=DUE + DAY), Policy(closes=DUE), None, DUE + DAY, DUE + DAY),
    ],
)
def test_the_dates_of_a_group_stand_in_for_those_of_everyone(
    own: GroupDates, general: Policy, opens: datetime | None, due: datetime | None, closes: datetime | None
) -> None:
    assert dates_of(own.policy(general)) == Dates(opens, due, closes)


def test_an_extension_holds_before_the_group_and_the_group_before_everyone(session: Session) -> None:
    class_id, (alone, monday, extended) = room(session, "", "Monday", "Monday")
    one = assigned(session, class_id, GENERAL)
    extend(session, one.id, [extended.person], DUE - DAY)
    session.flush()
    expected = {alone.person: DUE, monday.person: DUE - 3 * DAY, extended.person: DUE - DAY}
    for person, due in expected.items():
        assert dates_for(session, one, person).due == due
        everyone = dates_of_everyone(session, one)
        assert everyone.get(person, dates_of(one.policy)) == dates_for(session, one, person)


def test_an_exam_ends_with_the_group(session: Session) -> None:
    class_id, (alone, monday) = room(session, "", "Monday")
    exam = Policy(opens=DUE - DAY, closes=DUE, sitting=90)
    early = GroupDates(group="Monday", opens=DUE - 3 * DAY, closes=DUE - 2 * DAY)
    one = assigned(session, class_id, exam, (early,))
    for member, opens, closes in ((alone, DUE - DAY, DUE), (monday, DUE - 3 * DAY, DUE - 2 * DAY)):
        assert dates_for(session, one, member.person) == Dates(opens, closes, closes, waits=True)
        begin_sitting(session, one.id, member.person)
        assert dates_for(session, one, member.person).closes == closes  # it began after the close


def test_points_follow_the_dates_of_the_group_one_by_one_and_added_up(session: Session) -> None:
    class_id, members = room(session, *["Monday", "Tuesday"] * 12)
    one = assigned(session, class_id, GENERAL)
    for member in members:
        seed = variant_seed(SECRET, one.id, RING, member.learner)
        at = DUE - 2 * DAY - 12 * HOUR  # Monday's group is one day late
        session.add(
            AttemptRow(
                learner=member.learner,
                exercise=RING,
                seed=seed,
                answer="x",
                correct=True,
                score=1.0,
                hints=0,
                revealed=False,
                digest="old",
                drawn="{}",
                at=at,
            )
        )
    session.flush()
    for those in (members[:2], members):
        cells = cells_of(session, SECRET, one, those)
        for member in those:
            cell = cells[member.person, RING]
            late = member.group == "Monday"
            assert cell.points == pytest.approx(1.8 if late else 2.0)
            assert cell.late is late


def test_nothing_of_a_group_goes_on_in_an_archived_class(session: Session) -> None:
    class_id, (monday,) = room(session, "Monday")
    late = replace(MONDAY, due=DUE + 9_999 * DAY)
    number = assigned(session, class_id, GENERAL, (late,)).id
    set_archived(session, class_with(session, class_id))
    session.flush()
    one = assignment_with(session, number)
    assert dates_for(session, one, monday.person).closes == class_with(session, class_id).archived
    assert one.policy.closes == GENERAL.closes
    extend(session, one.id, [monday.person], DUE + 99_999 * DAY)
    session.flush()
    assert dates_for(session, one, monday.person).closes == class_with(session, class_id).archived


@each(
    ("groups", "says"),
    [
        ((GroupDates(group="Monday"),), "the group Monday needs a date of its own"),
        ((MONDAY, MONDAY), "the group Monday is there twice"),
        ((replace(MONDAY, opens=DUE),), "group Monday: due must not be before opens"),
        ((replace(MONDAY, closes=DUE - 4 * DAY),), "group Monday: the assignment closes on"),
        (tuple(replace(MONDAY, group=str(place)) for place in range(MOST_GROUPS + 1)), "at most 500 groups, not 501"),
    ],
)
def test_dates_of_groups_that_cannot_be_are_refused(
    session: Session, groups: tuple[GroupDates, ...], says: str
) -> None:
    class_id, _ = room(session)
    with pytest.raises(InputError, match=says):
        assigned(session, class_id, GENERAL, groups)


def test_an_assignment_that_is_changed_keeps_the_dates_of_groups_unless_they_are_given(session: Session) -> None:
    class_id, _ = room(session, "Monday")
    one = assigned(session, class_id, GENERAL)
    change_assignment(session, one.id, "Week 2", GENERAL, one.entries)
    assert assignment_with(session, one.id).groups == (MONDAY,)
    with pytest.raises(InputError, match="group Monday: due must not be before opens"):
        change_assignment(session, one.id, "Week 2", replace(GENERAL, opens=DUE), one.entries)
    change_assignment(session, one.id, "Week 2", GENERAL, one.entries, ())
    assert assignment_with(session, one.id).groups == ()


def test_the_version_of_an_assignment_changes_with_the_dates_of_a_group(session: Session) -> None:
    class_id, _ = room(session)
    one = assigned(session, class_id, GENERAL)
    versions = {one.version}
    for groups in ((), (replace(MONDAY, due=DUE),), (replace(MONDAY, group="Tuesday"),)):
        change_groups(session, one, groups)
        versions.add(assignment_with(session, one.id).version)
    assert len(versions) == 4


def test_groups_are_those_with_members_or_dates(session: Session) -> None:
    class_id, members = room(session, "tuesday", "Monday", "Monday", "")
    enroll(session, class_id, members[0].person, Role.TEACHER)
    assigned(session, class_id, GENERAL, (MONDAY, replace(MONDAY, group="Friday")))
    found = [(one.name, one.students, one.assignments) for one in class_groups(session, class_id)]
    assert found == [("Friday", 0, 1), ("Monday", 2, 1), ("tuesday", 0, 0)]
    refuse_unknown_groups(session, class_id, ["Friday", "tuesday"])
    with pytest.raises(InputError, match="no group 'Mondy'; did you mean 'Monday'"):
        refuse_unknown_groups(session, class_id, ["Mondy"])


def test_a_group_is_renamed_with_its_dates_and_dissolved_with_them(session: Session) -> None:
    class_id, (monday, _) = room(session, "Monday", "Tuesday")
    elsewhere, (other,) = room(session, "Monday")
    one, theirs = (assigned(session, room, GENERAL) for room in (class_id, elsewhere))
    rename_group(session, class_id, "Monday", "  Mon ")
    assert assignment_with(session, one.id).groups == (replace(MONDAY, group="Mon"),)
    assert dates_for(session, assignment_with(session, one.id), monday.person).due == MONDAY.due
    for wrong, says in (("Tuesday", "another group is called"), ("", "name must have")):
        with pytest.raises(InputError, match=says):
            rename_group(session, class_id, "Mon", wrong)
    dissolve_group(session, class_id, "Mon")
    assert [one.name for one in class_groups(session, class_id)] == ["Tuesday"]
    assert dates_for(session, assignment_with(session, one.id), monday.person).due == DUE
    assert dates_for(session, assignment_with(session, theirs.id), other.person).due == MONDAY.due
    for absent in ("Mon", ""):
        with pytest.raises(NotFoundError, match="no group"):
            dissolve_group(session, class_id, absent)


@each(("text", "name"), [("  ", ""), (" Mon  day ", "Mon day")])
def test_names_of_groups_are_tidy(text: str, name: str) -> None:
    assert clean_group(text) == name


def test_a_change_of_group_moves_scores_of_linked_assignments(session: Session) -> None:
    class_id, (member,) = room(session, "")
    one = assigned(session, class_id, GENERAL)
    session.get_one(AssignmentRow, one.id).changed = None
    session.flush()
    roster = read_roster(f"name,group\n{member.name},Monday\n").entries
    apply(session, class_id, roster_difference(members_of(session, class_id), roster))
    session.expire_all()
    assert session.get_one(AssignmentRow, one.id).changed is not None


class TestRosters:
    def test_a_column_of_groups_puts_people_into_them_and_takes_them_out(self, session: Session) -> None:
        class_id, (one, two) = room(session, "Monday", "Tuesday")
        text = f"name,Section\n{one.name},\n{two.name},Friday\nNew,Friday\n"
        found = roster_difference(members_of(session, class_id), read_roster(text).entries)
        assert (len(found.changed), len(found.added)) == (2, 1)
        apply(session, class_id, found)
        session.expire_all()
        assert {one.name: one.group for one in members_of(session, class_id)} == {
            "Ada": "",
            "Student 0": "",
            "Student 1": "Friday",
            "New": "Friday",
        }

    def test_without_the_column_everyone_stays_where_they_are(self, session: Session) -> None:
        class_id, (one, _) = room(session, "Monday", "")
        found = roster_difference(members_of(session, class_id), read_roster("name\nStudent 0\n").entries)
        assert found.is_empty
        assert one.group == "Monday"

    def test_what_is_written_is_read_as_it_was(self, session: Session) -> None:
        class_id, _ = room(session, "Monday", "", "Tuesday")
        members = members_of(session, class_id)
        text = write_roster(members)
        assert text.startswith("id,name,role,group\r\n")
        found = roster_difference(members, read_roster(text).entries)
        assert (found.is_empty, found.same) == (True, 4)

    def test_a_class_without_groups_has_no_column_of_them(self, session: Session) -> None:
        class_id, _ = room(session, "")
        assert write_roster(members_of(session, class_id)).startswith("id,name,role\r\n")

    @pytest.mark.parametrize("head", ["Section", "Groups", " group "])
    def test_heads_of_other_systems(self, head: str) -> None:
        (one,) = read_roster(f"id,name,{head}\n1,Ada,Monday\n").entries
        assert one.group == "Monday"

    @pytest.mark.parametrize("cell", ["No groups", ""])
    def test_who_is_in_none(self, cell: str) -> None:
        (one,) = read_roster(f"First name,Last name,ID number,Groups\nAda,L,1,{cell}\n").entries
        assert one.group == ""

    @pytest.mark.parametrize(
        ("cell", "stays"), [("Mon and Tue", True), ('"Mon, Tue, and Wed"', True), ("Tools and Methods", False)]
    )
    def test_who_is_in_several_is_named_and_stays(self, cell: str, stays: bool) -> None:
        rows = f"L,1,,a,Mon\nA,2,,b,Methods of Tools\nG,3,,c,{cell}\n"
        read = read_roster(f"Student,ID,SIS User ID,SIS Login ID,Section\n{rows}")
        assert (read.entries[2].group is None) == stays
        assert [says.partition(" (")[0] for says in read.left_out] == ["line 4: G is in several groups"] * stays

    def test_a_name_with_a_comma_is_one_group(self) -> None:
        read = read_roster('id,name,group\n1,Ada,"Mon, early"\n2,Alan,Mon\n')
        assert [one.group for one in read.entries] == ["Mon, early", "Mon"]

    def test_one_who_comes_back_gets_the_group_of_the_roster(self, session: Session) -> None:
        class_id, (one,) = room(session, "Monday")
        row = session.get_one(MemberRow, (class_id, one.person))
        row.outside_id, row.left = "7", DUE
        session.flush()
        roster = read_roster("id,name,group\n7,Student 0,Tuesday\n").entries
        apply(session, class_id, roster_difference(members_of(session, class_id), roster))
        assert session.get_one(MemberRow, (class_id, one.person)).group_name == "Tuesday"


def test_copies_have_the_groups_with_their_dates_moved(session: Session) -> None:
    class_id, _ = room(session, "Monday")
    zone = ZoneInfo("Europe/Berlin")
    assigned(session, class_id, GENERAL)
    copies = copies_of(chosen_assignments(session, class_id), 2, zone, {RING})
    target = number_of(create_class(session, SECRET, "Again", "Europe/Berlin"))
    store_copies(session, target, copies)
    (copy,) = assignments_of(session, target)
    assert copy.groups == (replace(MONDAY, due=DUE - 3 * DAY + 14 * DAY),)
    assert [one.name for one in class_groups(session, target)] == ["Monday"]


def test_the_first_date_of_a_term_may_be_that_of_a_group(session: Session) -> None:
    class_id, _ = room(session, "Monday")
    early = GroupDates(group="Monday", opens=DUE - 16 * DAY)
    one = assigned(session, class_id, GENERAL, (early,))
    assert weeks_to([one], (DUE - 9 * DAY).date()) == 1


def test_two_who_are_one_are_in_the_group_of_either_until_it_is_undone(session: Session) -> None:
    class_id, (kept, gone) = room(session, "", "Monday")
    number = merge_persons(session, kept.person, gone.person, "Ada")
    assert session.get_one(MemberRow, (class_id, kept.person)).group_name == "Monday"
    undo_merge(session, number, class_id)
    groups = [session.get_one(MemberRow, (class_id, one.person)).group_name for one in (kept, gone)]
    assert groups == ["", "Monday"]


def test_what_is_stored_about_a_person_names_the_group(session: Session) -> None:
    _, (one,) = room(session, "Monday")
    person = session.get(PersonRow, one.person)
    assert person is not None
    assert "'group_name': 'Monday'" in str(all_about(session, person)["memberships"])
