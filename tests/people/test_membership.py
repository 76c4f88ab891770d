"""Who is in a class, as what, under which name, and who may join it."""

import re
from datetime import timedelta

import pytest
from sqlmodel import Session, select

from app.classes.people.classes import (
    NewMember,
    Role,
    class_of_code,
    class_with,
    classes_of,
    create_class,
    enroll,
    invented_name,
    join_as,
    join_as_new,
    join_code_of,
    may_join,
    member_of_seat_code,
    members_of,
    number_of,
    refuse_archived,
    renew_join_link,
    renew_seat_code,
    role_in,
    set_archived,
    take_out_of_archive,
)
from app.classes.people.persons import (
    WayIn,
    browsers_of,
    code_digest,
    confirm_identities,
    has_doubted,
    identity_of_browser,
    is_own_browser,
    known_person,
    new_person,
    open_browser,
    show_identity,
    speaks_for,
)
from app.core.errors import InputError, NotFoundError, RefusedError
from app.server.db.people import ClassRow, IdentityRow, MemberRow, PersonRow, SessionRow
from app.server.db.tables import now
from app.site.members import SignedIn
from tests.each import each

SECRET = "a secret of sixteen characters and more"


@pytest.fixture
def a_class(session: Session) -> ClassRow:
    return create_class(session, SECRET, "Systems")


def joined(session: Session, row: ClassRow, form: str) -> NewMember:
    return join_as_new(session, SECRET, row, "Ada", form)


def test_a_form_that_is_sent_twice_within_ten_minutes_joins_one_person(session: Session, a_class: ClassRow) -> None:
    joined(session, a_class, "form")
    joined(session, a_class, "form")
    assert len(members_of(session, number_of(a_class))) == 1
    joined(session, a_class, "another")
    other = create_class(session, SECRET, "Networks")
    joined(session, other, "form")
    assert [len(members_of(session, number_of(row))) for row in (a_class, other)] == [2, 1]
    first = session.get_one(PersonRow, members_of(session, number_of(other))[0].person)
    first.made = now() - timedelta(minutes=9)
    joined(session, other, "form")
    assert len(members_of(session, number_of(other))) == 1
    first.made = now() - timedelta(minutes=11)
    joined(session, other, "form")
    assert len(members_of(session, number_of(other))) == 2
    assert len({member.learner for member in members_of(session, number_of(other))}) == 2


def test_a_person_who_was_deleted_is_not_joined_again_by_their_form(session: Session, a_class: ClassRow) -> None:
    joined(session, a_class, "form")
    (one,) = members_of(session, number_of(a_class))
    session.get_one(PersonRow, one.person).deleted = now()
    joined(session, a_class, "form")
    assert len({member.person for member in members_of(session, number_of(a_class))}) == 2


def test_a_role_is_never_lowered_and_ends_with_the_membership(session: Session, a_class: ClassRow) -> None:
    class_id, ada = number_of(a_class), number_of(new_person(session, "Ada"))
    assert role_in(session, class_id, ada) is None
    enroll(session, class_id, ada, Role.ASSISTANT, name="Ms. Lovelace", outside_id="a-1")
    row = enroll(session, class_id, ada, Role.STUDENT)
    assert (role_in(session, class_id, ada), row.label, row.outside_id) == (Role.ASSISTANT, "Ms. Lovelace", "a-1")
    enroll(session, class_id, ada, Role.TEACHER, name="Ada L.", outside_id="a-2")
    assert (role_in(session, class_id, ada), row.label, row.outside_id) == (Role.TEACHER, "Ada L.", "a-2")
    assert [(one.id, role) for one, role in classes_of(session, ada)] == [(class_id, Role.TEACHER)]
    row.left = now()
    session.add(row)
    session.flush()
    assert role_in(session, class_id, ada) is None
    assert (list(members_of(session, class_id)), list(classes_of(session, ada))) == ([], [])
    assert role_in(session, class_id, None) is None
    assert enroll(session, class_id, ada).left is None


def test_members_are_listed_by_name_whatever_its_case_and_without_one_by_number(
    session: Session, a_class: ClassRow
) -> None:
    class_id = number_of(a_class)
    for name, label in (("zoe", ""), ("Bo", "alan"), ("Ada", ""), ("", "")):
        enroll(session, class_id, number_of(new_person(session, name or "x")), name=label)
    unnamed = session.get_one(PersonRow, members_of(session, class_id)[2].person)
    assert unnamed.name == "x"
    unnamed.name = ""
    session.add(unnamed)
    session.flush()
    assert [member.name for member in members_of(session, class_id)] == ["Ada", "alan", "Student 4", "zoe"]


@each(("word", "role"), [("student", Role.STUDENT), ("assistant", Role.ASSISTANT), ("teacher", Role.TEACHER)])
def test_a_role_has_a_word(word: str, role: Role) -> None:
    assert Role.read(word) == role
    assert role.word == word


def test_a_role_or_a_class_that_does_not_exist_is_refused(session: Session, a_class: ClassRow) -> None:
    with pytest.raises(InputError, match="not 'studnt'; did you mean 'student'"):
        Role.read("studnt")
    with pytest.raises(NotFoundError, match="this class does not exist"):
        class_with(session, number_of(a_class) + 1)
    assert class_with(session, number_of(a_class)) == a_class


def test_only_one_who_has_had_no_seat_code_gets_one(session: Session, a_class: ClassRow) -> None:
    number = number_of(new_person(session, "Ada"))
    ada = SignedIn(number, "learner", "Ada", browser="browser")
    first = join_as(session, a_class, ada, " Ada  L. ")
    assert first.name == "Ada L."
    (member,) = members_of(session, number_of(a_class))
    assert (member.name, member.has_code) == ("Ada L.", True)
    assert member_of_seat_code(session, first.code) is not None
    again = join_as(session, a_class, ada)
    assert (again.name, again.code) == ("", "")
    (member,) = members_of(session, number_of(a_class))
    assert member.name == "Ada L.", "a name is kept where none is given"
    enroll(session, number_of(a_class), number_of(new_person(session, "Bo")))
    assert [one.has_code for one in members_of(session, number_of(a_class))] == [True, False]


def test_the_newest_class_of_a_person_comes_first(session: Session, a_class: ClassRow) -> None:
    ada, later = number_of(new_person(session, "Ada")), create_class(session, SECRET, "Networks")
    for row in (later, a_class):
        enroll(session, number_of(row), ada)
    assert [row.name for row, _ in classes_of(session, ada)] == ["Networks", "Systems"]


def test_a_seat_code_signs_in_one_member_of_one_class_until_there_is_another(
    session: Session, a_class: ClassRow
) -> None:
    class_id, other = number_of(a_class), number_of(create_class(session, SECRET, "Networks"))
    row = enroll(session, class_id, number_of(new_person(session, "Ada")))
    first = renew_seat_code(session, row)
    assert member_of_seat_code(session, first) == member_of_seat_code(session, first, class_id) == row
    assert member_of_seat_code(session, first, other) is None
    second = renew_seat_code(session, row)
    assert (member_of_seat_code(session, first), member_of_seat_code(session, second)) == (None, row)
    row.left = now()
    session.add(row)
    session.flush()
    assert member_of_seat_code(session, second) is None


def test_a_join_link_leads_to_its_class_until_there_is_another(session: Session, a_class: ClassRow) -> None:
    code = join_code_of(SECRET, a_class)
    assert class_of_code(session, code) == a_class
    renew_join_link(session, SECRET, a_class)
    assert class_of_code(session, code) is None
    assert class_of_code(session, join_code_of(SECRET, a_class)) == a_class


def test_an_archived_class_is_closed_and_stays_so_when_it_is_taken_out(session: Session, a_class: ClassRow) -> None:
    a_class.joining = "closed"
    assert not may_join(a_class)
    a_class.joining = "open"
    assert may_join(a_class)
    refuse_archived(a_class)
    a_class.archived = now()
    assert not may_join(a_class)
    a_class.archived = None
    set_archived(session, a_class)
    first = a_class.archived
    set_archived(session, a_class)
    assert a_class.archived == first, "it is archived since the first time"
    with pytest.raises(InputError, match="Systems is archived"):
        refuse_archived(a_class)
    take_out_of_archive(session, a_class)
    assert (a_class.archived, a_class.joining) == (None, "closed")
    refuse_archived(a_class)


def test_an_invented_name_has_two_words_and_two_digits() -> None:
    names = {invented_name() for _ in range(2_000)}
    assert all(re.fullmatch(r"[A-Z][a-z]+ [A-Z][a-z]+ [1-9][0-9]", name) for name in names)
    assert {int(name[-2:]) for name in names} == set(range(10, 100))


def test_who_enters_another_class_keeps_own_accounts_and_the_way_that_led_there(
    session: Session, a_class: ClassRow
) -> None:
    ada, other = number_of(new_person(session, "Ada")), create_class(session, SECRET, "Networks")
    enroll(session, number_of(other), ada)
    accounts = {"own": True, "of a teacher": False, "of this launch": False}
    for subject, own in accounts.items():
        session.add(IdentityRow(issuer="i", subject=f"{subject} {ada}", person=ada, own=own))
    browsers = [code_digest(open_browser(session, ada)) for _ in range(2)]
    session.flush()

    def doubted() -> set[str]:
        rows = session.exec(
            select(IdentityRow).where(IdentityRow.person == ada).execution_options(populate_existing=True)
        )
        return {row.subject.removesuffix(f" {ada}") for row in rows if row.doubted}

    enroll(session, number_of(a_class), ada, way=WayIn(trusts=True, browser=browsers[1]))
    assert doubted() == set()
    assert [session.get(SessionRow, one) is not None for one in browsers] == [False, True]
    session.get_one(MemberRow, (number_of(a_class), ada)).left = now()
    row = enroll(session, number_of(a_class), ada, way=WayIn(issuer="i", subject=f"of this launch {ada}"))
    assert row.left is None
    assert doubted() == {"of a teacher"}, "one who comes back enters, too"
    assert browsers_of(session, ada) == 0


def test_a_browser_speaks_for_a_person_by_an_own_account_if_there_is_one(session: Session) -> None:
    ada, bo = (number_of(new_person(session, name)) for name in ("Ada", "Bo"))

    def signed_in(person: int, subject: str = "") -> SignedIn:
        cookie = open_browser(session, person, "i" if subject else "", subject)
        session.flush()
        return SignedIn(person, "", "", browser=code_digest(cookie))

    assert speaks_for(session, signed_in(ada)), "she has no account"
    session.add(IdentityRow(issuer="i", subject=f"theirs {ada}", person=ada, own=False))
    here = signed_in(ada, f"theirs {ada}")
    assert [speaks_for(session, one) for one in (signed_in(ada), here)] == [False, True]
    session.add(IdentityRow(issuer="i", subject=f"own {ada}", person=ada))
    own = signed_in(ada, f"own {ada}")
    assert [speaks_for(session, one) for one in (here, own)] == [False, True]
    assert [is_own_browser(session, one.browser) for one in (here, own)] == [False, True]
    other = signed_in(bo, f"own {ada}")
    assert identity_of_browser(session, other.browser) is None, "the identity is that of another"
    assert not show_identity(session, own.browser, bo, "i", f"theirs {ada}")
    assert show_identity(session, own.browser, ada, "i", f"theirs {ada}")
    assert not is_own_browser(session, own.browser)


def test_a_class_that_is_archived_again_keeps_its_day_and_nobody_joins_what_is_archived(
    session: Session, a_class: ClassRow
) -> None:
    set_archived(session, a_class)
    first = a_class.archived
    set_archived(session, a_class)
    assert a_class.archived == first
    a_class.joining = "open"
    assert not may_join(a_class)


def test_a_doubted_account_signs_nobody_in_until_its_own_person_confirms_it(session: Session) -> None:
    ada, bo = (number_of(new_person(session, name)) for name in ("Ada", "Bo"))
    for person in (ada, bo):
        session.add(IdentityRow(issuer="i", subject=f"doubted {person}", person=person, own=False, doubted=True))
    session.flush()
    confirm_identities(session, ada)
    session.expire_all()
    found = known_person(session, "i", f"doubted {ada}")
    assert found is not None
    assert found.id == ada
    assert [has_doubted(session, person) for person in (ada, bo)] == [False, True]
    with pytest.raises(RefusedError, match="confirm the account"):
        known_person(session, "i", f"doubted {bo}")
    assert known_person(session, "i", "nobody") is None
