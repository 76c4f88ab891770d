"""Classes, codes, variants and members."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlmodel import Session, select

from app.classes.people.assignments import (
    AssignmentEntry,
    assignment_with,
    change_assignment,
    change_groups,
    create_assignment,
)
from app.classes.people.classes import (
    Role,
    class_of_code,
    class_with,
    classes_of,
    create_class,
    enroll,
    join_as_new,
    join_code_of,
    member_of_seat_code,
    members_of,
    number_of,
    renew_join_link,
    renew_seat_code,
    role_in,
    set_archived,
    take_out_of_archive,
    zone_named,
)
from app.classes.people.counted_answers import ExerciseSeeds, variant_seed
from app.classes.people.erasure import forget_member
from app.classes.people.members import (
    INVENTED,
    change_role,
    dissolve_group,
    new_seat_codes,
    put_into_group,
    remove_members,
    rename_group,
    rename_member,
    set_time_factor,
    taught_by,
    with_own_way_in,
)
from app.classes.people.merges import merge_persons
from app.classes.people.persons import group_code, new_person, random_code, read_code
from app.classes.people.policy import GroupDates, Policy
from app.core.errors import InputError, NotFoundError
from app.course.kinds import SEEDS
from app.server.db.people import AssignmentRow, IdentityRow, MemberRow, PersonRow
from app.server.db.tables import now

SECRET = "a secret of tests"


def a_class(session: Session, name: str = "Ring") -> int:
    return number_of(create_class(session, SECRET, name))


def member(session: Session, class_id: int, name: str, role: Role = Role.STUDENT) -> int:
    person = number_of(new_person(session, name))
    enroll(session, class_id, person, role)
    return person


def test_a_code_has_forty_bits_and_is_read_however_it_is_typed() -> None:
    codes = {random_code() for _ in range(300)}
    assert len(codes) == 300
    assert all(re.fullmatch("[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}", code) for code in codes)
    for code in codes:
        assert group_code(read_code(f"  {code.lower().replace('-', ' ')}\n")) == code
    assert read_code("oO il") == "0011"
    assert read_code("Ü=*'") == ""


def test_a_variant_is_the_same_everywhere_and_differs_by_person_assignment_and_exercise() -> None:
    seed = variant_seed(SECRET, 1, "a/b", "ada")
    assert (seed, variant_seed(SECRET, 1, "a/b")) == (540_994_157, 1_508_279_013)  # as in stored answers
    assert variant_seed(SECRET, 1, "a/b", "ada") == seed
    others = [
        variant_seed(SECRET, 1, "a/b", "alan"),
        variant_seed(SECRET, 2, "a/b", "ada"),
        variant_seed(SECRET, 1, "a/c", "ada"),
        variant_seed("another", 1, "a/b", "ada"),
        variant_seed(SECRET, 1, "a/b"),
    ]
    assert len({seed, *others}) == 6
    assert all(0 <= one < SEEDS for one in (seed, *others))


def test_seeds_of_many_learners_are_those_of_each() -> None:
    for secret in ("s", "k" * 64, "ü" * 33, "k" * 65):
        seeds = ExerciseSeeds(secret, 7, "a/b")
        for learner in ("", "ada", "ü" * 60):
            assert seeds.of(learner) == variant_seed(secret, 7, "a/b", learner)


def test_a_join_link_opens_one_class_until_it_is_renewed(session: Session) -> None:
    row = create_class(session, SECRET, "Ring")
    create_class(session, SECRET, "Tree")
    code = join_code_of(SECRET, row)
    assert class_of_code(session, code.upper()) is row
    renew_join_link(session, SECRET, row)
    assert class_of_code(session, code) is None
    assert class_of_code(session, join_code_of(SECRET, row)) is row


def test_a_name_that_is_no_zone_gets_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'Europe/Berlin'"):
        zone_named("Europe/Berln")
    with pytest.raises(InputError, match="the time zone '.*' does not exist"):
        zone_named("../../etc/passwd")


def test_a_role_is_never_lowered_by_joining_again_but_by_being_removed(session: Session) -> None:
    class_id = a_class(session)
    member(session, class_id, "Grace", Role.TEACHER)
    ada = member(session, class_id, "Ada", Role.ASSISTANT)
    enroll(session, class_id, ada)
    assert role_in(session, class_id, ada) is Role.ASSISTANT
    assert remove_members(session, class_id, [ada]) == 1
    assert role_in(session, class_id, ada) is None
    enroll(session, class_id, ada)
    assert role_in(session, class_id, ada) is Role.STUDENT


def test_the_last_teacher_stays(session: Session) -> None:
    class_id = a_class(session)
    grace = member(session, class_id, "Grace", Role.TEACHER)
    with pytest.raises(InputError, match="a class needs a teacher"):
        remove_members(session, class_id, [grace])
    with pytest.raises(InputError, match="a class needs a teacher"):
        change_role(session, class_id, grace, Role.STUDENT)
    member(session, class_id, "Barbara", Role.TEACHER)
    change_role(session, class_id, grace, Role.STUDENT)
    assert role_in(session, class_id, grace) is Role.STUDENT


def test_an_id_belongs_to_one_member(session: Session) -> None:
    class_id = a_class(session)
    ada, alan = member(session, class_id, "Ada"), member(session, class_id, "Alan")
    rename_member(session, class_id, ada, "Ada L.", " 4711 ")
    with pytest.raises(InputError, match="'4711' is that of Ada L."):
        rename_member(session, class_id, alan, "Alan", "4711")
    with pytest.raises(NotFoundError, match="not in the class"):
        rename_member(session, class_id, alan + 99, "Nobody", "")
    assert [one.name for one in members_of(session, class_id)] == ["Ada L.", "Alan"]


def test_a_seat_code_signs_in_until_it_is_renewed_or_its_member_removed(session: Session) -> None:
    class_id = a_class(session)
    grace = member(session, class_id, "Grace", Role.TEACHER)
    ada = member(session, class_id, "Ada")
    everyone = members_of(session, class_id)
    first = {seat.member.person: seat.code for seat in new_seat_codes(session, class_id, everyone, grace)}
    assert member_of_seat_code(session, first[ada].lower()) is not None
    only = [one for one in everyone if one.person == ada]
    [second] = new_seat_codes(session, class_id, only, grace)
    assert member_of_seat_code(session, first[ada]) is None
    assert member_of_seat_code(session, first[grace]) is not None
    remove_members(session, class_id, [ada])
    assert member_of_seat_code(session, second.code) is None
    stored = session.exec(select(MemberRow.code_digest)).all()
    assert not any(code in (digest or "") for digest in stored for code in first.values())


def test_a_teacher_gets_no_code_of_a_person_who_is_in_another_class(session: Session) -> None:
    """A code signs in as the person: it would open a class of somebody else."""
    mine, other = a_class(session), a_class(session, "Tree")
    grace = member(session, mine, "Grace", Role.TEACHER)
    ada = member(session, mine, "Ada")
    enroll(session, other, ada, Role.TEACHER)
    everyone = [one for one in members_of(session, mine) if one.person == ada]
    assert new_seat_codes(session, mine, everyone, grace) == []
    # If both classes are hers, she learns nothing by it.
    enroll(session, other, grace, Role.TEACHER)
    assert len(new_seat_codes(session, mine, everyone, grace)) == 1


def test_a_teacher_gets_no_code_of_a_person_who_signs_in_elsewhere(session: Session) -> None:
    class_id = a_class(session)
    grace = member(session, class_id, "Grace", Role.TEACHER)
    ada = member(session, class_id, "Ada")
    session.add(IdentityRow(issuer="https://idp.example", subject="ada", person=ada))
    everyone = members_of(session, class_id)
    assert [seat.member.name for seat in new_seat_codes(session, class_id, everyone, grace)] == ["Grace"]


def test_entering_a_class_ends_the_codes_that_teachers_of_others_may_know(session: Session) -> None:
    first, second = a_class(session), a_class(session, "Tree")
    ada = member(session, first, "Ada")
    row = session.get(MemberRow, (first, ada))
    assert row is not None
    code = renew_seat_code(session, row)
    enroll(session, first, ada)  # she is in it already
    assert member_of_seat_code(session, code) is not None
    enroll(session, second, ada)
    assert member_of_seat_code(session, code) is None


def test_classes_are_listed_newest_first_without_those_that_were_left(session: Session) -> None:
    first, second, third = (a_class(session, name) for name in ("One", "Two", "Three"))
    ada = member(session, first, "Ada")
    enroll(session, second, ada, Role.ASSISTANT)
    enroll(session, third, ada)
    remove_members(session, third, [ada])
    found = [(row.name, role) for row, role in classes_of(session, ada)]
    assert found == [("Two", Role.ASSISTANT), ("One", Role.STUDENT)]


def test_a_form_that_is_sent_twice_makes_one_person_unless_the_first_is_deleted(session: Session) -> None:
    row = create_class(session, SECRET, "Ring")

    people = [number_of(one) for one in session.exec(select(PersonRow)).all()]
    join_as_new(session, SECRET, row, "Ada", "form")
    join_as_new(session, SECRET, row, "Ada", "form")
    (made,) = (one for one in session.exec(select(PersonRow)).all() if number_of(one) not in people)
    made.deleted = now()
    session.add(made)
    join_as_new(session, SECRET, row, "Ada", "form")
    made_since = [one for one in session.exec(select(PersonRow)).all() if number_of(one) not in people]
    names = [one.name for one in made_since if one.deleted is None]
    assert names == ["Ada"]
    assert len(session.exec(select(PersonRow)).all()) == len(people) + 2


def test_a_role_that_a_teacher_gives_is_not_lowered_by_the_list_of_a_platform(session: Session) -> None:
    class_id = a_class(session)
    ada = member(session, class_id, "Ada")
    change_role(session, class_id, ada, Role.ASSISTANT)
    assert session.get_one(MemberRow, (class_id, ada)).launched == "assistant"


def test_a_member_keeps_their_id_under_another_name(session: Session) -> None:
    class_id = a_class(session)
    ada = member(session, class_id, "Ada")
    for name in ("Ada L.", "Ada K."):
        rename_member(session, class_id, ada, name, "4711")
    assert [(one.name, one.outside_id) for one in members_of(session, class_id)] == [("Ada K.", "4711")]


def test_one_who_is_removed_has_neither_role_nor_code_anymore(session: Session) -> None:
    class_id = a_class(session)
    grace, ada = member(session, class_id, "Grace", Role.TEACHER), member(session, class_id, "Ada", Role.TEACHER)
    row = session.get_one(MemberRow, (class_id, ada))
    code = renew_seat_code(session, row)
    assert remove_members(session, class_id, [ada, ada]) == 1
    assert (row.role, row.code_digest, row.left is not None) == ("student", None, True)
    row.left = None
    assert member_of_seat_code(session, code) is None
    row.left, row.role = now(), "teacher"
    assert taught_by(session, ada) == set(), "she has left"
    assert taught_by(session, grace) == {class_id}
    assistant = member(session, class_id, "Tom", Role.ASSISTANT)
    assert taught_by(session, assistant) == set()


def test_only_classes_that_one_has_not_left_are_others(session: Session) -> None:
    mine, other = a_class(session), a_class(session, "Tree")
    grace, ada = member(session, mine, "Grace", Role.TEACHER), member(session, mine, "Ada")
    member(session, other, "Barbara", Role.TEACHER)
    enroll(session, other, ada)
    enroll(session, other, grace)
    assert with_own_way_in(session, [grace, ada], grace) == {ada}, "a teacher gets a code of their own"
    remove_members(session, other, [ada])
    assert with_own_way_in(session, [ada], grace) == set()
    for signs_nobody_in in (INVENTED, "proxy"):
        session.add(IdentityRow(issuer=signs_nobody_in, subject=f"{ada}", person=ada))
    session.flush()
    assert with_own_way_in(session, [ada], grace) == set()
    session.add(IdentityRow(issuer="https://idp.example", subject=f"{ada}", person=ada))
    session.flush()
    assert with_own_way_in(session, [ada], grace) == {ada}


def test_a_group_and_its_end_are_of_one_class(session: Session) -> None:
    rooms = [a_class(session), a_class(session, "Tree")]
    ada, weeks = member(session, rooms[0], "Ada"), []
    enroll(session, rooms[1], ada)
    for class_id in rooms:
        put_into_group(session, class_id, [ada], "Mon")
        groups = [GroupDates(group="Mon", due=now())]
        weeks.append(create_assignment(session, class_id, "Week", Policy(), [AssignmentEntry("a/b", 1.0)], groups))
    dissolve_group(session, rooms[0], "Mon")
    assert [session.get_one(MemberRow, (class_id, ada)).group_name for class_id in rooms] == ["", "Mon"]
    assert [len(assignment_with(session, number).groups) for number in weeks] == [0, 1]
    put_into_group(session, rooms[0], [ada], "Tue")
    rename_group(session, rooms[0], "Tue", "Mon")
    rename_group(session, rooms[0], "Mon", "Wed")
    assert [session.get_one(MemberRow, (class_id, ada)).group_name for class_id in rooms] == ["Wed", "Mon"]
    assert [len(assignment_with(session, number).groups) for number in weeks] == [0, 1]


CHANGES: dict[str, Callable[[Session, int, int, int], object]] = {
    "a group": lambda session, class_id, ada, _: put_into_group(session, class_id, [ada], "Tue"),
    "the end of a group": lambda session, class_id, *_: dissolve_group(session, class_id, "Mon"),
    "more time": lambda session, class_id, ada, _: set_time_factor(
        session, session.get_one(MemberRow, (class_id, ada)), 1.5
    ),
    "the archive": lambda session, class_id, *_: set_archived(session, class_with(session, class_id)),
    "its end": lambda session, class_id, *_: take_out_of_archive(session, class_with(session, class_id)),
    "dates of groups": lambda session, _class, _ada, week: change_groups(session, assignment_with(session, week), []),
    "other rules": lambda session, _class, _ada, week: change_assignment(
        session, week, "Week", Policy(late=0.5), [AssignmentEntry("a/b", 1.0)]
    ),
    "a merge": lambda session, class_id, ada, _: merge_persons(session, ada, member(session, class_id, "Bo"), "T"),
    "a student who is forgotten": lambda session, class_id, ada, _: forget_member(
        session, SECRET, session.get_one(MemberRow, (class_id, ada))
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_may_change_points_is_noted_at_the_assignments_of_its_class_alone(
    session: Session, change: Callable[[Session, int, int, int], object]
) -> None:
    long_ago, weeks = now() - timedelta(days=9), []
    for name in ("Ring", "Tree"):
        class_id = a_class(session, name)
        ada = member(session, class_id, "Ada")
        put_into_group(session, class_id, [ada], "Mon")
        weeks.append(create_assignment(session, class_id, "Week", Policy(), [AssignmentEntry("a/b", 1.0)]))
        if name == "Ring":
            mine = class_id, ada, weeks[0]
    for number in weeks:
        session.get_one(AssignmentRow, number).changed = long_ago
    session.flush()
    change(session, *mine)
    session.flush()
    session.expire_all()
    assert [session.get_one(AssignmentRow, number).changed != long_ago for number in weeks] == [True, False]
