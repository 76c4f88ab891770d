"""Rosters as four systems write them, as we do, and as a person says which column is what.

Canvas: its exporter (instructure/canvas-lms, lib/gradebook_exporter.rb) with its options, and the file of its groups.
Moodle: the text export of its gradebook (grade/export/txt), the table of participants and a grading worksheet.
Blackboard: Download Grades, of Learn Original and Ultra. Open edX: the grade report (instructor_task/tasks_helper) and
the profiles of learners.
"""

import csv
import io
from dataclasses import replace
from typing import Literal

import pytest

from app.classes.people.classes import Member, Role
from app.classes.people.csv_rosters import (
    ReadRoster,
    RosterEntry,
    UnknownTitlesError,
    read_id,
    read_roster,
    write_roster,
)
from app.classes.people.csv_text import read_csv
from app.classes.people.persons import clean_name
from app.classes.people.rosters import roster_difference
from app.core.errors import InputError
from tests.each import each

_TEST = "0f3a9c0f3a9c0f3a9c0f3a9c0f3a9c0f3a9c0f3a"
# What a file is, its system, and who is in it: name, id and group.
FILES: dict[str, tuple[str | bytes, str, list[tuple[str, str, str | None]]]] = {
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (574283),Current Points,Final Points,Current Score\r\n"
        ",,,,,Manual Posting,,,\r\n"
        "    Points Possible,,,,,10.00,(read only),(read only),(read only)\r\n"
        '"Lovelace, Ada",1001,004711,ada,Group A,7.50,7.50,7.50,75.00\r\n'
        '"O\'Brien, Grace",1002,4712,grace,Group A,EX,,,\r\n'
        f'"Student, Test",1003,,{_TEST},Group A,,,,\r\n',
        "Canvas",
        [("Ada Lovelace", "004711", "Group A"), ("Grace O'Brien", "4712", "Group A")],
    ),
    "canvas, all options": (
        "\ufeffLastName,FirstName,ID,SIS User ID,SIS Login ID,Integration ID,Root Account,Section,"
        "Notes,Week 1 (574283),Current Score,Current Grade,Override Score\r\n,,,,,,,,,Manual Posting,,,\r\n"
        "    Points Possible,,,,,,,,,10.00,(read only),(read only),\r\n"
        "Lovelace,Ada,1001,004711,ada,,uni.example,Lab A,late,7.50,75.00,C,\r\n"
        f"Student,Test,1003,,{_TEST},,uni.example,Lab A,,,,,\r\n",
        "Canvas",
        [("Ada Lovelace", "004711", "Lab A")],
    ),
    "canvas, semicolons and decimal commas": (
        "sep=;\r\nStudent;ID;SIS User ID;SIS Login ID;Section;Week 1 (574283)\r\n    Points Possible;;;;;10,00\r\n"
        "Lovelace, Ada;1001;004711;ada;Lab A and Lab B;7,50\r\nKing, Martin L., Jr.;1002;4712;mlk;Lab A;\r\n",
        "Canvas",
        [("Ada Lovelace", "004711", None), ("Martin L. King, Jr.", "4712", "Lab A")],
    ),
    "canvas, without SIS": (
        "Student,ID,SIS Login ID,Section,Week 1 (574283)\n    Points Possible,,,,10.00\n"
        '"O\'Brien, Grace",1002,grace,Tools and Methods,N/A\n"Plato",1001,plato,Tools and Methods,7.50\n',
        "Canvas",
        [("Grace O'Brien", "1002", "Tools and Methods"), ("Plato", "1001", "Tools and Methods")],
    ),
    "canvas, groups": (
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        "Ada Lovelace,1001,004711,ada,Systems,Team 1,7,\nBo Ek,1002,4712,bo,Systems,,,\n",
        "Canvas",
        [("Ada Lovelace", "004711", "Team 1"), ("Bo Ek", "4712", "")],
    ),
    "moodle": (
        '"First name","Last name","ID number",Institution,Department,"Email address","Assignment: Week 1 (Real)",'
        '"Assignment: Week 1 (Percentage)","Feedback: Week 1","Course total (Real)","Last downloaded from this course"\n'
        'Ada,Lovelace,004711,,,ada@x.example,7.50,"75.00 %","Well done, 9",7.50,1700000000\n'
        "Grace,Hopper,4712,,,grace@x.example,-,-,,-,1700000000\n",
        "Moodle",
        [("Ada Lovelace", "004711", None), ("Grace Hopper", "4712", None)],
    ),
    "moodle 3, tabs, with the suspended": (
        "First name\tSurname\tID number\tInstitution\tDepartment\tEmail address\tSuspended\tQuiz: Week 1 (Real)\n"
        "小明\t王\t004711\t\t\tx@x.example\tYes\t7.50\n",
        "Moodle",
        [("王小明", "004711", None)],
    ),
    "moodle, participants": (
        '"First name","Last name","ID number","Email address",Groups\n'
        'Sally,Smith,0111,sally@x.example,"A, G1"\nJoe,Bloggs,222,joe@x.example,A\nJane,Roe,,jane@x.example,"No groups"\n',
        "Moodle",
        [("Sally Smith", "0111", None), ("Joe Bloggs", "222", "A"), ("Jane Roe", "", "")],
    ),
    "moodle, participants without ids": (
        "Email address,First name,Last name,Groups\nsally@x.example,Sally,Smith,A\n",
        "Moodle",
        [("Sally Smith", "", "A")],
    ),
    "moodle, a list of users": (
        "id,username,email,firstname,lastname,idnumber,institution\n3,sally,s@x.example,Sally,Smith,,\n",
        "Moodle",
        [("Sally Smith", "sally", None)],
    ),
    "moodle, a grading worksheet": (
        'Identifier,"Full name","ID number","Email address",Status,Grade,"Maximum Grade"\n'
        '"Participant 17","Ada Lovelace",004711,ada@x.example,"Submitted for grading",7.50,10.00\n',
        "Moodle",
        [("Ada Lovelace", "004711", None)],
    ),
    "moodle, saved by a spreadsheet": (
        "First name;Last name;ID number;Email address\r\nJürgen;Müller;004711;j@x.example\r\n".encode("cp1252"),
        "Moodle",
        [("Jürgen Müller", "004711", None)],
    ),
    "blackboard original": (
        '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Last Access"\t"Availability"\t'
        '"Weighted Total [Total Pts: up to 10 Percentage] |574280"\t"Week 1 [Total Pts: 10 Score] |574283"\r\n'
        '"Lovelace"\t"Ada"\t"ada"\t"004711"\t"2026-10-05 10:00:00"\t"Yes"\t"75.00%"\t"7.50"\r\n'
        '"Lovelace_PreviewUser"\t"Ada"\t"ada_previewuser"\t""\t""\t"Yes"\t""\t""\r\n'.encode("utf-16"),
        "Blackboard",
        [("Ada Lovelace", "004711", None)],
    ),
    "blackboard ultra": (
        '\ufeff"Last Name","First Name","Username","Student ID","Child Course ID","Week 1 [Total Pts: 10] |574283"\n'
        '"Lovelace","Ada","ada","004711","SYS.1","7.5"\n"Ek","Bo","bo","","SYS.2",""\n',
        "Blackboard",
        [("Ada Lovelace", "004711", None), ("Bo Ek", "", None)],
    ),
    "blackboard, without student ids": (
        "Username,Last Name,First Name,Student ID,Availability\nada,Lovelace,Ada,,Yes\n",
        "Blackboard",
        [("Ada Lovelace", "ada", None)],
    ),
    "open edx, grades": (
        "Student ID,Email,Username,Grade,Homework 1: Week 1,Homework (Avg),Cohort Name,Enrollment Track,"
        "Verification Status,Certificate Eligible,Certificate Delivered,Certificate Type,Enrollment Status\n"
        "17,a@x.example,ada,0.7,0.7,0.7,A,audit,N/A,N,N,N/A,enrolled\n",
        "Open edX",
        [("ada", "ada", "A")],
    ),
    "open edx, profiles": (
        "id,username,name,email,language,location,year_of_birth,gender,level_of_education,mailing_address,goals,"
        "enrollment_mode,last_login,date_joined,external_user_key,cohort\n"
        '17,ada,Ada Lovelace,a@x.example,,,,,,"1, St James\nLondon",,audit,,,,\n',
        "Open edX",
        [("Ada Lovelace", "ada", "")],
    ),
    "ours": (
        "id,name,role,group\r\n004711,Ada Lovelace,student,Monday\r\n,=Bo,teacher,\r\n",
        "Wallclock",
        [("Ada Lovelace", "004711", "Monday"), ("=Bo", "", "")],
    ),
    "ours, grades": (
        "\ufeffnumber,id,name,Week 1,total,overall %\n7,4711,Ada Lovelace,1.5,1.5,75\n",
        "Wallclock",
        [("Ada Lovelace", "4711", None)],
    ),
    "ours, by hand": (
        "Last name;First name;ID;Section\nLovelace;Ada;4711;A\n",
        "Wallclock",
        [("Ada Lovelace", "4711", "A")],
    ),
    "ours, from pandas, for Excel": (
        'id,name,notes\n4711.0,Ada Lovelace,x\n"=""004712""",Bo,"a\nb"\n#4713,Cy,\n',
        "Wallclock",
        [("Ada Lovelace", "4711", None), ("Bo", "004712", None), ("Cy", "4713", None)],
    ),
}


def people(found: ReadRoster) -> list[tuple[str, str, str | None]]:
    return [(one.name, one.outside_id, one.group) for one in found.entries]


@each("what", FILES)
def test_a_file_of_a_known_system_has_its_people(what: str) -> None:
    content, system, listed = FILES[what]
    found = read_roster(content)
    assert people(found) == listed
    assert found.layout.format is not None
    assert found.layout.format.system == system


@each("what", FILES.keys() - {"ours, by hand"})
@each("separator", [",", ";", "\t"])
@each("quoting", [csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
def test_columns_may_stand_in_another_order_among_others_with_blank_lines(
    what: str, separator: str, quoting: Literal[0, 1]
) -> None:
    content, _, listed = FILES[what]
    file = read_csv(content)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, quoting=quoting)
    for row in file.rows:
        cells = [row.cell(place) for place in range(len(file.rows[0].cells))]
        writer.writerows([["x", *reversed(cells)], []])
    assert people(read_roster(text.getvalue().encode("utf-8-sig"))) == listed


def test_rows_about_columns_and_test_students_are_named_and_so_is_what_is_not_used() -> None:
    found = read_roster(FILES["canvas"][0])
    assert list(found.left_out) == [
        "line 2: 'Manual Posting' is not a person",
        "line 3: 'Points Possible' is not a person",
        "line 6: 'Student, Test' is not a person",
    ]
    assert found.unused[:3] == ("ID", "SIS Login ID", "Week 1 (574283)")


def test_who_is_in_several_groups_is_named_and_stays() -> None:
    (says,) = read_roster(FILES["moodle, participants"][0]).left_out
    assert says == "line 2: Sally Smith is in several groups (A, G1), so their group is left as it is"


@each(
    ("content", "names"),
    [
        ("Ada Lovelace\n\nGrace Hopper\n", ["Ada Lovelace", "Grace Hopper"]),
        ("name\nAda Lovelace\n", ["Ada Lovelace"]),
        ('"Lovelace, Ada"\nPlato\n', ["Lovelace, Ada", "Plato"]),
        ("Ada Lovelace\nSammy Davis, Jr.\nBo\n", ["Ada Lovelace", "Sammy Davis, Jr.", "Bo"]),
        ("Name\nKing, Martin L., Jr.\nAda\nBo\n", ["King, Martin L., Jr.", "Ada", "Bo"]),
    ],
)
def test_names_one_per_line_stay_as_they_are(content: str, names: list[str]) -> None:
    assert [one.name for one in read_roster(content).entries] == names


UNKNOWN = {
    "a registrar": "Matr.-Nr.;Nachname;Vorname\n004711;Lovelace;Ada\n",
    "whole names that are last names": "ID;Name;Vorname\n4711;Lovelace;Ada\n",
    "a name beside others": "Name,Studiengang\nAda,Informatik\n",
    "gradescope": "First Name,Last Name,SID,Email,Sections\nAda,Lovelace,4711,ada@x.example,A\n",
    "brightspace": "OrgDefinedId,Username,Last Name,First Name\n#4711,#ada,Lovelace,Ada\n",
    "without titles": "Ada,4711\nGrace,4712\n",
    "last names first": "Lovelace, Ada\nHopper, Grace\n",
}


@each("what", UNKNOWN)
def test_other_titles_are_never_guessed(what: str) -> None:
    with pytest.raises(UnknownTitlesError, match="line 1: .* are not the titles of .*say which column is what"):
        read_roster(UNKNOWN[what])


@each(
    ("what", "columns", "first_line", "listed"),
    [
        ("a registrar", ["id:1", "last:Nachname", "first:vorname"], 0, [("Ada Lovelace", "004711", None)]),
        ("gradescope", ["id:SID", "first:1", "last:2", "group:5"], 2, [("Ada Lovelace", "4711", "A")]),
        ("brightspace", ["id:OrgDefinedId", "first:4"], 0, [("Ada", "4711", None)]),
        ("without titles", ["name:1", "id:2"], 1, [("Ada", "4711", None), ("Grace", "4712", None)]),
        ("without titles", ["id:2"], 0, [("4712", "4712", None)]),
        ("last names first", ["last:1", "first:2"], 1, [("Ada Lovelace", "", None), ("Grace Hopper", "", None)]),
    ],
)
def test_a_person_says_which_column_is_what(
    what: str, columns: list[str], first_line: int, listed: list[tuple[str, str, str | None]]
) -> None:
    found = read_roster(UNKNOWN[what], columns, first_line)
    assert people(found) == listed
    assert found.layout.format is None


def test_lines_above_the_titles_are_named_and_the_columns_hold_for_a_known_file_too() -> None:
    text = 'Klausur;;\n\nNr.;Name;Punkte\n1;"Lovelace, Ada";7\n2;Plato;\n'
    found = read_roster(text, ["id:1", "last-first:Name", "role:3"], 4)
    assert people(found) == [("Plato", "2", None)]
    assert [says.partition(",")[0] for says in found.left_out] == ["line 1: 'Klausur' is not a person", "line 4"]
    known = read_roster("id,name,notes\n1,Ada,Bo\n", ["name:3"])
    assert (people(known), known.unused) == ([("Bo", "", None)], ("id", "name"))
    assert people(read_roster("Course 7\nid,name\n1,Ada\n", (), 3)) == [("Ada", "1", None)]


@each(
    ("columns", "says"),
    [
        (["nam:2"], "column 'nam:2': each is one of id, name, last-first, .*did you mean 'name'"),
        (["name"], "column 'name': each is one of"),
        (["name:"], "each is one of"),
        (["name:1", "name:2"], "column 'name:2': each is one of .*, once"),
        (["name:0"], "0 columns called '0'; its columns have the numbers 1 to 4"),
        (["name:5"], "0 columns called '5'"),
        (["name:Nam"], "0 columns called 'Nam'; .*did you mean 'Name'"),
        (["name:Twice"], "2 columns called 'Twice'"),
        (["group:1"], "say which column has the names"),
    ],
)
def test_columns_that_a_file_does_not_have_are_refused_with_those_it_has(columns: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_roster("Name,Twice,Twice,x\nAda,1,2,3\n", columns)


@each(
    ("content", "says"),
    [
        ("id,name\n", "nobody is on it"),
        ("id,name\n1,\x01Ada\n", "line 2, column name: a name must have"),
        ("id,name,role\n1,Ada,teachr\n", "line 2, column role: a role is .* did you mean 'teacher'"),
        ("id,name,group\n1,Ada,x\x01\n", "line 2, column group: a name must have"),
        ("id,name\n1.00E+06,Ada\n", "line 2, column id: the id is '1.00E\\+06', which a spreadsheet has shortened"),
        ("id;name\n1,00E+06;Ada\n", "line 2, column id: the id is '1,00E\\+06', which a spreadsheet has shortened"),
        ("id,name\n1,Lovelace,Ada\n", "line 2: 3 cells under 2 titles"),
        ("id,name\n" + f"{'1' * 256},Ada\n" * 6, "line 2, column id: an id has at most 255 .*; and 1 more"),
    ],
)
def test_a_roster_that_cannot_be_read_says_where(content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_roster(content)


@each(
    ("content", "columns", "first_line", "says"),
    [
        ("a,,b\n1,\x01Ada,x\n", ["name:2"], 0, "line 2, column 2: a name must have"),
        ("a,Nr\nx," + "1" * 101 + "\n", ["id:2"], 0, "line 2, column Nr: a name must have"),
        ("Ada\n1,2,\x01Bo\n", ["name:3"], 1, "line 2, column 3: a name must have"),
    ],
)
def test_a_column_without_a_title_is_called_by_its_number(
    content: str, columns: list[str], first_line: int, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        read_roster(content, columns, first_line)


def test_the_longest_line_says_how_many_columns_there_are() -> None:
    assert people(read_roster("x\n1,2,3,Ada\n", ["name:4"], 1)) == [("Ada", "", None)]


@each(("content", "found"), [("Ada\nBo\n1,Cy\n", 3), ("Ada\n1,Cy\n", None), ("Ada\n1,Cy\n2,Di\n", None), ("Ada\n", 1)])
def test_names_one_per_line_are_more_than_half_of_the_lines(content: str, found: int | None) -> None:
    if found is None:
        with pytest.raises(UnknownTitlesError):
            read_roster(content)
    else:
        assert len(read_roster(content).entries) == found


@each("bad", [5, 6, 7])
def test_five_problems_are_named_and_the_others_counted(bad: int) -> None:
    with pytest.raises(InputError) as refused:
        read_roster("id,name\n" + "1.00E+06,Ada\n" * bad)
    assert str(refused.value).count("column id") == 5
    assert str(refused.value).endswith(f"; and {bad - 5} more") is (bad > 5)


def test_a_roster_is_written_with_groups_and_factors_if_there_are_any() -> None:
    ada, bo = members(("Ada", "007"), ("=Bo", ""))
    assert write_roster([ada, bo]) == "id,name,role\r\n007,Ada,student\r\n,'=Bo,student\r\n"
    with_group = [replace(ada, group="Mon"), replace(bo, role=Role.TEACHER)]
    assert write_roster(with_group) == "id,name,role,group\r\n007,Ada,student,Mon\r\n,'=Bo,teacher,\r\n"
    with_time = [ada, replace(bo, time_factor=1.25)]
    assert write_roster(with_time) == "id,name,role,time factor\r\n007,Ada,student,1\r\n,'=Bo,student,1.25\r\n"
    for written in ([ada, bo], with_group, with_time):
        found = read_roster(write_roster(written)).entries
        assert [(one.name, one.outside_id, one.role, one.group or "", one.time or 1.0) for one in found] == [
            (one.name, one.outside_id, one.role, one.group, one.time_factor) for one in written
        ]


@each(
    ("cell", "expected"),
    [
        ("4711.0", "4711"), ("4711.00", "4711"), ("4711.5", "4711.5"), ("a1.0", "a1.0"), ("", ""), ("12.0.0", "12.0"),
        ("1.5E+10", None), ("1E5", None), ("1,5e10", None), ("1E", "1E"), ("15E+10", "15E+10"), ("E+5", "E+5"),
    ],
)  # fmt: skip
def test_an_id_is_as_it_was_before_a_spreadsheet(cell: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InputError, match="format the column of ids as text"):
            read_id(cell)
    else:
        assert read_id(cell) == expected


def test_one_bad_line_never_refuses_the_others() -> None:
    lines = [f"{place},Student {place}" for place in range(299)]
    found = read_roster("\n".join(["id,name", *lines, "300,\x01Ada", "1.00E+06,Bo", "x,y,z"]))
    assert len(found.entries) == 299
    starts = [says[:24] for says in found.left_out]
    assert starts == ["line 301, column name: a", "line 302, column id: the", "line 303: 3 cells under "]


def test_roles_of_other_systems_are_ours() -> None:
    found = read_roster("name,id,role\nAda,1,Student\nBo,2,TA\nCy,3,Instructor\nDi,4,Non-editing teacher\nEd,5,Owl\n")
    roles = [one.role.word for one in found.entries if one.role]
    assert roles == ["student", "assistant", "teacher", "assistant"]
    assert found.left_out[0].startswith("line 6, column role: a role is student")


def test_equal_names_are_two_persons_with_their_lines() -> None:
    assert read_roster("id,name\n01,Kim Lee\n1,Kim Lee\n").entries == (
        RosterEntry(line=2, name="Kim Lee", outside_id="01"),
        RosterEntry(line=3, name="Kim Lee", outside_id="1"),
    )


def members(*people: tuple[str, str]) -> list[Member]:
    return [
        Member(
            class_id=1, person=place, learner=f"l{place}", role=Role.STUDENT, name=name,
            outside_id=outside, has_code=False,
        )
        for place, (name, outside) in enumerate(people, 1)
    ]  # fmt: skip


def test_an_id_that_lost_its_zeros_is_the_same_and_keeps_them() -> None:
    found = roster_difference(members(("Ada", "007")), read_roster("id,name\n7,Ada").entries)
    assert (found.added, found.changed, found.same) == ((), (), 1)
    found = roster_difference(members(("Ada", "7")), read_roster("id,name\n007,Ada").entries)
    assert [one.listed.outside_id for one in found.changed] == ["007"]
    both = members(("Ada", "007"), ("Bo", "07"))
    assert len(roster_difference(both, read_roster("id,name\n7,Cy").entries).added) == 1


def test_names_are_one_however_their_letters_are_composed() -> None:
    composed, decomposed = ("Jos\N{LATIN SMALL LETTER E WITH ACUTE}", "Jose\N{COMBINING ACUTE ACCENT}")
    assert clean_name(decomposed) == composed
    persian = "علی\N{ZERO WIDTH NON-JOINER}رضا"
    assert read_roster(f"name\n{persian}").entries[0].name == persian
