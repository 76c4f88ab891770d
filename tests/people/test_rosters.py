"""What a roster changes: found by id, doubles named, nobody lost."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier, BrokenBarrierError

import pytest
from sqlalchemy import Engine
from sqlmodel import Session, select

from app.classes.people.assignments import AssignmentEntry, create_assignment
from app.classes.people.classes import Member, Role, class_with, create_class, enroll, members_of, number_of
from app.classes.people.csv_rosters import RosterEntry, read_roster
from app.classes.people.members import hold, remove_members
from app.classes.people.persons import new_person
from app.classes.people.policy import Policy
from app.classes.people.rosters import (
    apply,
    claimable_member,
    import_roster,
    known_students,
    learner_called,
    namesakes,
    roster_changes,
    roster_difference,
)
from app.core.errors import InputError
from app.server.db.people import AssignmentRow, IdentityRow, MemberRow, PersonRow
from app.server.db.session import open_session, open_writing_session
from app.server.db.tables import now


def listed(*rows: tuple[str, str], role: Role | None = None) -> list[RosterEntry]:
    return [
        RosterEntry(line=place, name=name, outside_id=outside, role=role)
        for place, (name, outside) in enumerate(rows, 2)
    ]


@pytest.fixture
def class_id(session: Session) -> int:
    number = number_of(create_class(session, "secret", "Ring"))
    enroll(session, number, number_of(new_person(session, "Grace")), Role.TEACHER)
    return number


def names(session: Session, class_id: int) -> list[tuple[str, str, str]]:
    return [(one.name, one.outside_id, one.role.word) for one in members_of(session, class_id)]


def imported(session: Session, class_id: int, roster: list[RosterEntry], *, remove: bool = False) -> None:
    apply(session, class_id, roster_difference(members_of(session, class_id), roster), remove_missing=remove)


def person_of(session: Session, class_id: int, outside: str) -> int:
    return next(one.person for one in members_of(session, class_id) if one.outside_id == outside)


def test_a_roster_adds_renames_and_leaves_the_others_alone(session: Session, class_id: int) -> None:
    imported(session, class_id, listed(("Ada", "1"), ("Alan", "2"), ("Edsger", "3")))
    found = roster_difference(
        members_of(session, class_id), listed(("Ada Lovelace", "1"), ("Alan", "2"), ("Barbara", "4"))
    )
    assert [one.name for one in found.added] == ["Barbara"]
    assert [(one.member.name, one.listed.name) for one in found.changed] == [("Ada", "Ada Lovelace")]
    assert [one.name for one in found.missing] == ["Edsger"]
    assert found.same == 1
    apply(session, class_id, found)
    assert names(session, class_id) == [
        ("Ada Lovelace", "1", "student"),
        ("Alan", "2", "student"),
        ("Barbara", "4", "student"),
        ("Edsger", "3", "student"),
        ("Grace", "", "teacher"),
    ]


def test_a_roster_that_was_applied_changes_nothing_more(session: Session, class_id: int) -> None:
    roster = listed(("Ada", "1"), ("Alan", ""), ("Ada", "5"))
    imported(session, class_id, roster)
    again = roster_difference(members_of(session, class_id), roster)
    assert again.is_empty
    assert again.same == 3


def test_namesakes_with_ids_of_their_own_are_two_persons(session: Session, class_id: int) -> None:
    imported(session, class_id, listed(("Kim Lee", "1"), ("Kim Lee", "2")))
    assert [one[1] for one in names(session, class_id) if one[0] == "Kim Lee"] == ["1", "2"]


def test_one_who_joined_by_link_is_found_by_name_and_gets_the_id(session: Session, class_id: int) -> None:
    ada = number_of(new_person(session, "Ada Lovelace"))
    enroll(session, class_id, ada)
    found = roster_difference(members_of(session, class_id), listed(("ada lovelace", "1")))
    assert [one.member.person for one in found.found] == [ada]
    assert not found.added
    apply(session, class_id, found)
    assert person_of(session, class_id, "1") == ada
    # Two on the roster have the name: nobody knows which of them joined.
    enroll(session, class_id, number_of(new_person(session, "Kim Lee")))
    doubtful = roster_difference(members_of(session, class_id), listed(("Kim Lee", "8"), ("Kim Lee", "9")))
    assert len(doubtful.added) == 2
    assert not doubtful.found


def test_doubles_are_named_with_both_lines(session: Session, class_id: int) -> None:
    found = roster_difference(members_of(session, class_id), listed(("Ada", "1"), ("Alan", "2"), ("Ada L.", "1")))
    [double] = found.doubled
    assert (double.listed.line, double.first.line) == (4, 2)
    assert len(found.added) == 2


def test_a_line_without_an_id_after_one_with_it_is_a_double(session: Session, class_id: int) -> None:
    imported(session, class_id, listed(("Ada", "1")))
    found = roster_difference(members_of(session, class_id), listed(("Ada L.", "1"), ("Alan", "2"), ("Ada", "")))
    assert len(found.doubled) == 1
    assert [one.listed.name for one in found.changed] == ["Ada L."]


def test_those_who_are_missing_go_only_if_it_is_said_and_come_back_as_the_same_person(
    session: Session, class_id: int
) -> None:
    imported(session, class_id, listed(("Ada", "1"), ("Alan", "2")))
    ada = person_of(session, class_id, "1")
    imported(session, class_id, listed(("Alan", "2")), remove=True)
    assert [one[0] for one in names(session, class_id)] == ["Alan", "Grace"]
    imported(session, class_id, listed(("Ada Lovelace", "1"), ("Alan", "2")))
    assert person_of(session, class_id, "1") == ada


def test_a_roster_sets_roles_only_where_it_names_them(session: Session, class_id: int) -> None:
    imported(session, class_id, listed(("Ada", "1"), role=Role.ASSISTANT))
    imported(session, class_id, listed(("Ada L.", "1")))
    assert ("Ada L.", "1", "assistant") in names(session, class_id)


def test_a_class_keeps_a_teacher(session: Session, class_id: int) -> None:
    with pytest.raises(InputError, match="no teacher"):
        imported(session, class_id, listed(("Grace", "7"), role=Role.STUDENT))


def test_another_difference_has_another_digest_and_the_lines_do_not_matter(session: Session, class_id: int) -> None:
    members = members_of(session, class_id)
    one, other = listed(("Ada", "1")), [RosterEntry(line=9, name="Ada", outside_id="1")]
    assert roster_difference(members, one).digest == roster_difference(members, other).digest
    assert roster_difference(members, one).digest != roster_difference(members, listed(("Ada", "2"))).digest
    enroll(session, class_id, number_of(new_person(session, "Alan")))
    assert roster_difference(members, one).digest != roster_difference(members_of(session, class_id), one).digest


def test_ten_thousand_lines_in_another_encoding_are_imported_with_their_doubles_named(session: Session) -> None:
    encoding, separator = "utf-16", "\t"
    number = number_of(create_class(session, "secret", "Large"))
    lines = [f"{place}{separator}Zoë Müller {place}" for place in range(9_990)]
    lines += [f"{place}{separator}Twice" for place in range(9)]
    content = "\r\n".join([f"id{separator}name", *lines]).encode(encoding)
    begun = time.process_time()
    found = roster_difference([], read_roster(content).entries)
    apply(session, number, found)
    assert time.process_time() - begun < 10
    assert len(found.doubled) == 9
    rows = session.exec(select(MemberRow).where(MemberRow.class_id == number)).all()
    assert len({row.person for row in rows}) == 9_990
    label = next(row.label for row in rows if row.outside_id == "9989")
    assert label == "Zoë Müller 9989"


def test_a_class_does_not_grow_without_end() -> None:
    members = [
        Member(class_id=1, person=n, learner=str(n), role=Role.STUDENT, name=f"S {n}", outside_id="", has_code=False)
        for n in range(9_999)
    ]
    with pytest.raises(InputError, match="at most 10,000 members; this would make 10,001"):
        roster_difference(members, listed(("Ada", "1"), ("Alan", "2")))


def test_a_person_of_a_roster_has_a_learner_of_their_own(session: Session, class_id: int) -> None:
    imported(session, class_id, listed(*((f"S {n}", str(n)) for n in range(50))))
    remove_members(session, class_id, [])
    learners = [row.learner for row in session.exec(select(PersonRow)).all()]
    assert len(set(learners)) == len(learners)


def test_a_roster_that_is_sent_twice_at_once_is_taken_once(people_engine: Engine) -> None:
    with open_session(people_engine) as session:
        number = number_of(create_class(session, "secret", "Twice"))
        session.commit()
    both = Barrier(2)

    def send() -> None:
        with open_writing_session(people_engine) as session:
            with suppress(BrokenBarrierError):
                both.wait(0.05)
            hold(session, number)
            members = members_of(session, number)
            with suppress(BrokenBarrierError):
                both.wait(0.05)  # both have read, if nothing keeps them apart
            apply(session, number, roster_difference(members, listed(("Ada", "1"), ("Alan", "2"))))
            session.commit()

    with ThreadPoolExecutor(2) as pool:
        for sent in [pool.submit(send), pool.submit(send)]:
            sent.result()
    with open_session(people_engine) as session:
        assert len(members_of(session, number)) == 2


def a_class(session: Session, *teachers: int, name: str = "Ring") -> int:
    number = number_of(create_class(session, "secret", name))
    for teacher in teachers:
        enroll(session, number, teacher, Role.TEACHER)
    return number


def test_a_roster_finds_who_the_same_teachers_have_taught_before(session: Session) -> None:
    grace, alan = (number_of(new_person(session, name)) for name in ("Grace", "Alan"))
    before, other, shared = a_class(session, grace), a_class(session, alan), a_class(session, grace, alan)
    for class_id, outside in ((before, "007"), (other, "8"), (shared, "9"), (before, "10")):
        imported(session, class_id, listed((f"Student {outside}", outside)))
    enroll(session, other, person_of(session, before, "10"))  # is in a class of others, too
    known = person_of(session, before, "007")
    now = a_class(session, grace)
    found = roster_changes(
        session, now, listed(("Ada King", "7"), ("Bo", "8"), ("Cy", "9"), ("Di", "10"), ("Ed", "11"))
    )
    assert [(one.person, one.name, one.listed.outside_id) for one in found.known] == [(known, "Student 007", "007")]
    assert [one.outside_id for one in found.added] == ["8", "9", "10", "11"]
    import_roster(session, now, found)
    assert person_of(session, now, "007") == known
    assert [one.name for one in members_of(session, now) if one.person == known] == ["Ada King"]
    assert class_with(session, now).joining == "roster"
    assert roster_changes(session, now, listed(("Ada King", "007"))).is_empty


def test_an_import_without_anyone_new_leaves_the_link_open(session: Session, class_id: int) -> None:
    enroll(session, class_id, number_of(new_person(session, "Ada")), Role.STUDENT, "Ada")
    import_roster(session, class_id, roster_changes(session, class_id, listed(("Ada", "1"))))
    assert class_with(session, class_id).joining == "open"


def test_namesakes_are_shown_if_one_has_no_id(session: Session, class_id: int) -> None:
    for name, outside in (("Ada", ""), ("ada", "1"), ("Bo", "2"), ("Bo", "3"), ("Cy", ""), ("Cy", ""), ("Grace", "4")):
        enroll(session, class_id, number_of(new_person(session, name)), Role.STUDENT, name, outside)
    found = namesakes(members_of(session, class_id))
    assert [(one.name, one.outside_id, two.name, two.outside_id) for one, two in found] == [
        ("ada", "1", "Ada", ""),
        ("Cy", "", "Cy", ""),
    ]


def test_a_platform_may_not_say_who_teaches_or_has_another_way_in_or_is_in_a_class_of_others(session: Session) -> None:
    grace, alan = (number_of(new_person(session, name)) for name in ("Grace", "Alan"))
    one, shared, others = a_class(session, grace), a_class(session, grace, alan), a_class(session, alan)
    persons = [number_of(new_person(session, name)) for name in ("Ada", "Tom", "Bo", "Cy", "Di")]
    for place, person in enumerate(persons):
        enroll(session, one, person, Role.ASSISTANT if place == 1 else Role.STUDENT, outside_id=str(place))
    session.add(IdentityRow(issuer="https://a", subject=f"bo {persons[2]}", person=persons[2]))
    enroll(session, others, persons[3])
    enroll(session, shared, persons[4])
    found = [claimable_member(session, one, str(place)) for place in range(6)]
    assert found == [persons[0], None, None, None, None, None]
    enroll(session, a_class(session, grace), persons[0])
    assert claimable_member(session, one, "0") == persons[0], "the other class is hers"


def test_who_assisted_before_is_known_and_who_is_here_under_another_id_is_not(session: Session) -> None:
    grace = number_of(new_person(session, "Grace"))
    before, this = a_class(session, grace), a_class(session, grace)
    tom, ada = number_of(new_person(session, "Tom")), number_of(new_person(session, "Ada"))
    enroll(session, before, tom, Role.ASSISTANT, outside_id="7")
    enroll(session, before, ada, outside_id="8")
    enroll(session, this, ada, outside_id="9")
    found = known_students(session, this, ["7", "8"])
    assert {outside: row.person for outside, row in found.items()} == {"7": tom}


def test_a_roster_changes_time_and_group_where_it_has_them_and_then_points_are_computed_again(
    session: Session, class_id: int
) -> None:
    ada = number_of(new_person(session, "Ada"))
    row = enroll(session, class_id, ada, name="Ada", outside_id="1")
    row.time_factor, row.group_name = 1.5, "Mon"
    week = create_assignment(session, class_id, "Week", Policy(), [AssignmentEntry("a/b", 1.0)])
    long_ago = now() - timedelta(days=9)
    for listing, found in (
        (RosterEntry(line=2, name="Ada K.", outside_id="1"), (1.5, "Mon", False)),
        (RosterEntry(line=2, name="Ada L.", outside_id="1", time=2.0), (2.0, "Mon", True)),
        (RosterEntry(line=2, name="Ada M.", outside_id="1", group=""), (2.0, "", True)),
    ):
        session.get_one(AssignmentRow, week).changed = long_ago
        imported(session, class_id, [listing])
        session.expire_all()
        changed = session.get_one(AssignmentRow, week).changed != long_ago
        assert (row.time_factor, row.group_name, changed) == found
    class_with(session, class_id).joining = "closed"
    import_roster(session, class_id, roster_changes(session, class_id, listed(("Bo", "2"))))
    assert class_with(session, class_id).joining == "closed"


def test_a_learner_is_called_by_id_or_by_number_in_a_class_or_in_all(session: Session) -> None:
    one, other = a_class(session), a_class(session)
    persons = [new_person(session, name) for name in ("Ada", "Bo", "Cy")]
    ada, bo, cy = persons
    for class_id, person, outside in ((one, ada, "twice 1"), (other, bo, "twice 1"), (other, cy, "")):
        enroll(session, class_id, number_of(person), outside_id=outside)
    assert learner_called(session, "twice 1", one) == ada.learner
    assert learner_called(session, str(cy.id), other) == learner_called(session, str(cy.id), None) == cy.learner
    for text, place, says in (
        ("twice 1", None, "several people are called 'twice 1'"),
        (str(cy.id), one, "nobody in this class is called"),
        ("twice 2", one, "did you mean 'twice 1'"),
        ("9" * 19, one, "nobody in this class is called"),
    ):
        with pytest.raises(InputError, match=says):
            learner_called(session, text, place)
    remove_members(session, one, [number_of(ada)])
    with pytest.raises(InputError, match="nobody in this class"):
        learner_called(session, "twice 1", one)
