"""The people of a class and its files as values: who is listed, what a file says, what is shown before it counts."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.datastructures import FormData

from app.classes.pages.class_router import FileForm
from app.classes.pages.roster import (
    CodesForm,
    MemberForm,
    MergeForm,
    ReasonForm,
    RemovalForm,
    change_member,
    delete_member,
    export_member,
    find_matching,
    member_page,
    merge_member,
    page_number,
    people_page,
    remove_member,
    renew_codes,
)
from app.classes.pages.roster_import import ColumnsForm, RosterForm, grades_csv, roster_page
from app.classes.people.classes import Member, Role, enroll, members_of, number_of, renew_seat_code
from app.classes.people.members import member_row, put_into_group, set_time_factor
from app.classes.people.persons import new_person
from app.core.errors import InputError, NotFoundError
from app.server.db.session import open_writing_session
from app.site import Site
from tests.each import each
from tests.people.crowd import RING, Crowd, crowd_of
from tests.web.a_class import visit


@each(("text", "number"), [("2", 2), ("999", 999), ("1000", 1), ("0", 0), ("", 1), ("x", 1), ("-1", 1), ("٣", 1)])
def test_a_page_in_an_address_is_a_number_of_three_digits_or_the_first(text: str, number: int) -> None:
    assert page_number(text) == number


def test_those_are_found_whose_name_or_id_has_what_is_sought() -> None:
    people = [
        Member(class_id=1, person=place, learner=f"l{place}", role=Role.STUDENT, name=name, outside_id=outside)
        for place, (name, outside) in enumerate([("Ada", "X-17"), ("Bo Straße", ""), ("Cy", "18")])
    ]
    for sought, found in (
        ("a", "Ada Bo Straße"),
        ("x-1", "Ada"),
        ("STRASSE", "Bo Straße"),
        ("18", "Cy"),
        ("da x", "Ada"),
    ):
        assert " ".join(one.name for one in find_matching(people, sought)) == found


def teacher_of(crowd: Crowd, session: Any) -> Any:
    return visit(crowd.site, session, crowd.class_id, crowd.persons["Ada Teacher"])


def test_teachers_are_listed_first_and_it_is_counted_who_needs_a_code(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Ann", "Cleo")
    with open_writing_session(site.engine) as session:
        renew_seat_code(session, member_row(session, crowd.class_id, crowd.persons["Bo"]))
        page = people_page(teacher_of(crowd, session))
        assert [one.name for one, _ in page.lines] == ["Ada Teacher", "Tom Assistant", "Ann", "Bo", "Cleo"]
        assert (page.total, page.students, page.without_code) == (5, 3, 2)
        assert (page.has_groups, page.has_times, page.namesakes, page.places, page.place) == (False, False, (), 1, 1)
        seen = {one.name: says for one, says in page.lines}
        assert set(seen.values()) <= {"now", "never"}
        put_into_group(session, crowd.class_id, [crowd.persons["Bo"]], "Mon")
        set_time_factor(session, member_row(session, crowd.class_id, crowd.persons["Bo"]), 1.25)
        enroll(session, crowd.class_id, number_of(new_person(session, "bo")), Role.STUDENT, "bo")
        page = people_page(teacher_of(crowd, session), "  id-2 ", "7")
        assert ([one.name for one, _ in page.lines], page.sought, page.place) == (["Bo"], "id-2", 1)
        assert (page.total, page.students, page.has_groups, page.has_times) == (1, 4, True, True)
        assert [{one.name for one in pair} for pair in page.namesakes] == [{"Bo", "bo"}]
        session.rollback()


@each(("more", "pages"), [(295, 1), (296, 2)])
def test_three_hundred_people_are_on_a_page(site: Site, more: int, pages: int) -> None:
    crowd = crowd_of(site, "Bo", "Ann", "Cleo")
    with open_writing_session(site.engine) as session:
        for place in range(more):
            enroll(session, crowd.class_id, number_of(new_person(session, f"S{place:03}")))
        for asked, place in (("1", 1), ("0", 1), ("9", pages)):
            page = people_page(teacher_of(crowd, session), page=asked)
            assert (page.place, page.places, page.total) == (place, pages, more + 5)
            assert len(page.lines) == (300 if place == 1 else more + 5 - 300)
        session.rollback()


def test_codes_are_made_for_students_who_have_none_or_for_all(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo")
    with open_writing_session(site.engine) as session:
        renew_seat_code(session, member_row(session, crowd.class_id, crowd.persons["Bo"]))
        for which, names in (("missing", ["Cleo"]), ("missing", []), ("all", ["Bo", "Cleo"])):
            page = renew_codes(teacher_of(crowd, session), CodesForm(which=which))
            assert [one.member.name for one in page.slips] == names
            assert (page.without, page.is_own) == ((), False)
        for which in ("", "none"):
            with pytest.raises(InputError, match="missing or all"):
                renew_codes(teacher_of(crowd, session), CodesForm(which=which))
        session.rollback()


def test_a_member_is_shown_with_the_students_who_may_be_the_same_and_changed(site: Site) -> None:
    crowd = crowd_of(site, "Bo", "Cleo", "Dan")
    with open_writing_session(site.engine) as session:
        teacher, bo = teacher_of(crowd, session), crowd.persons["Bo"]
        page = member_page(teacher, bo)
        assert (page.name, page.outside_id, page.role, page.time_factor) == ("Bo", "id-2", "student", "1")
        assert ([one.name for one in page.others], page.is_visitor, page.has_code) == (["Cleo", "Dan"], False, False)
        mine = member_page(teacher, crowd.persons["Ada Teacher"])
        assert (mine.others, mine.is_visitor) == ((), True)
        change_member(teacher, bo, MemberForm(name="Bob", outside_id="7", role="assistant", time_factor="150 %"))
        known = {one.person: one for one in members_of(session, crowd.class_id)}
        assert (known[bo].name, known[bo].outside_id, known[bo].role) == ("Bob", "7", Role.ASSISTANT)
        assert known[bo].time_factor == 1.5
        change_member(teacher, bo, MemberForm(name="Bob", outside_id="7", role="student"))
        known = {one.person: one for one in members_of(session, crowd.class_id)}
        assert (known[bo].role, known[bo].time_factor) == (Role.STUDENT, 1.5)
        change_member(teacher, bo, MemberForm(name="Bob", outside_id="7", role="student", time_factor=""))
        assert member_page(teacher, bo).time_factor == "1"
        for other in ("", "x", "9" * 19, "-1"):
            with pytest.raises(InputError, match="choose the other student"):
                merge_member(teacher, bo, MergeForm(other=other))
        merge_member(teacher, bo, MergeForm(other=str(crowd.persons["Cleo"])))
        (merge,) = member_page(teacher, bo).merges
        assert (merge.name, merge.by, merge.waits, merge.undone) == ("Cleo", "Ada Teacher", False, False)
        assert member_page(teacher, crowd.persons["Dan"]).merges == ()
        for sure in ("", "no"):
            with pytest.raises(InputError, match="tick the box"):
                remove_member(teacher, crowd.persons["Dan"], RemovalForm(sure=sure))
        remove_member(teacher, crowd.persons["Dan"], RemovalForm(sure="yes"))
        assert crowd.persons["Dan"] not in {one.person for one in members_of(session, crowd.class_id)}
        session.rollback()


def test_what_a_class_stored_about_a_student_goes_and_is_taken_along_for_a_reason(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:
        teacher, bo, helper = teacher_of(crowd, session), crowd.persons["Bo"], crowd.persons["Tom Assistant"]
        file = export_member(teacher, bo, ReasonForm(why=" asked "))
        assert f'filename="class-{crowd.class_id}-person-{bo}.json"' in file.headers["content-disposition"]
        for sent, says in (({"sure": "yes"}, "give a reason"), ({"why": "x"}, "tick the box"), ({"why": " "}, "tick")):
            with pytest.raises(InputError, match=says):
                delete_member(teacher, bo, ReasonForm(**sent))
        for work in (export_member, delete_member):
            with pytest.raises(InputError, match="not a student"):
                work(teacher, helper, ReasonForm(why="x", sure="yes"))
        assert bo in {one.person for one in members_of(session, crowd.class_id)}
        delete_member(teacher, bo, ReasonForm(why="x", sure="yes"))
        assert bo not in {one.person for one in members_of(session, crowd.class_id)}
        session.rollback()


def test_a_form_says_which_column_is_what_by_numbers() -> None:
    sent = [("column-id", "2"), ("column-name", ""), ("column-group", "x"), ("column-time", "٣"), ("first_line", "3")]
    form = RosterForm.read(FormData([*sent, ("text", "a"), ("remove", "yes"), ("digest", "d")]))
    assert (form.columns, form.numbers, form.first_line) == (("id:2",), (("id", 2),), 3)
    assert (form.text, form.remove, form.digest) == ("a", "yes", "d")
    for line, found in (("999999", 999_999), ("1000000", 0), ("x", 0), ("", 0), ("-1", 0)):
        assert RosterForm.read(FormData([("first_line", line)])).first_line == found


@each(
    ("text", "sent", "first_line", "titles", "numbers"),
    [
        ("id,name\n1,Ada\n", {}, 2, ["id", "name"], {"id": 1, "name": 2}),
        ("Ada\nBo\n", {}, 1, [""], {"name": 1}),
        ("x\nNr,Wer\n1,Ada\n", {"columns": ("name:2",), "first_line": 3}, 3, ["Nr", "Wer"], {"name": 2}),
    ],
)
def test_the_columns_of_a_file_are_shown_as_they_are_read(
    text: str, sent: dict[str, Any], first_line: int, titles: list[str], numbers: dict[str, int]
) -> None:
    form = RosterForm(text=text, **sent)
    shown = ColumnsForm.of(form, form.roster().layout)
    assert shown.first_line == first_line
    assert shown.columns == tuple(enumerate(titles, 1))
    assert {word: number for word, _, number in shown.words if number} == numbers
    assert shown.system == ("Wallclock" if text.startswith("id,") else "")
    assert [number for word, _, number in ColumnsForm.of(form).words if number] == [
        int(one[5:]) for one in form.columns
    ]


def test_eight_lines_and_a_hundred_columns_show_how_a_file_is_read() -> None:
    text = "\n".join([",".join(["t" * 61] * 101), *(",".join("x" * 101) for _ in range(9))])
    shown = ColumnsForm.of(RosterForm(text=text))
    assert (len(shown.rows), len(shown.columns), shown.columns[-1]) == (8, 100, (100, "t" * 60))


def test_a_file_is_read_once_and_one_that_cannot_be_read_is_refused_once() -> None:
    form = FileForm(file="Zoë".encode("cp1252"), text="old")
    assert (form.decoded(None).text, form.decoded(None).file) == ("Zoë", b"")
    assert FileForm(text="old").decoded(None).text == "old"
    bad = FileForm(file="Иван\n".encode("cp1251"), text="old")
    with pytest.raises(InputError, match="save it as CSV UTF-8"):
        bad.decoded(None)
    assert bad.decoded(InputError("no")).text == ""


def test_a_roster_that_brings_someone_closes_an_open_link(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)

        def page(text: str) -> Any:
            return roster_page(teacher, RosterForm(text=text))

        assert roster_page(teacher).form is None
        assert (page("id,name\n9,Zoe\n").closes, page("id,name\nid-2,Bob\n").closes) == (True, False)
        teacher.row.joining = "roster"
        assert not page("id,name\n9,Zoe\n").closes
        unknown = page("Nr,Wer\n1,Ada\n")
        assert (unknown.read, unknown.found, unknown.form is not None) == (None, None, True)
        wrong = replace(teacher, error=InputError("no"))
        assert roster_page(wrong, RosterForm(text="a,b\n")).form is None
        assert roster_page(wrong, RosterForm(text="a,b\n", columns=("id:1",))).form is not None
        session.rollback()


def test_a_file_of_grades_begins_as_its_program_expects(site: Site) -> None:
    crowd = crowd_of(site, "Bo")
    with open_writing_session(site.engine) as session:
        teacher = teacher_of(crowd, session)
        for form, mark in (("ours", True), ("excel", True), ("canvas", False), ("moodle", False)):
            file = grades_csv(teacher, form)
            assert bytes(file.body).startswith("\ufeff".encode()) is mark
            assert f'filename="Systems-{form}.csv"' in file.headers["content-disposition"]
        assert RING in bytes(grades_csv(teacher, "ours", str(crowd.assignment.id)).body).decode()
        for number in ("x", "0", "9" * 19):
            with pytest.raises(NotFoundError):
                grades_csv(teacher, "ours", number)
        with pytest.raises(InputError, match="format must be ours, canvas, moodle or excel, not 'exel'"):
            grades_csv(teacher, "exel")
