"""Classes, codes, variants and members."""

import re

import pytest
from sqlmodel import Session, select

from app.classes.people.classes import (
    Role,
    class_of_code,
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
    zone_named,
)
from app.classes.people.counted_answers import ExerciseSeeds, variant_seed
from app.classes.people.members import change_role, new_seat_codes, remove_members, rename_member
from app.classes.people.persons import group_code, new_person, random_code, read_code
from app.core.errors import InputError, NotFoundError
from app.course.kinds import SEEDS
from app.server.db.people import IdentityRow, MemberRow, PersonRow
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
    names = [one.name for one in session.exec(select(PersonRow)).all() if one.deleted is None]
    assert names == ["Ada"]
    assert len(session.exec(select(PersonRow)).all()) == len(people) + 2
