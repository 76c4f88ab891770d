"""Rosters and grades as other systems, spreadsheets and people write them; names and numbers are ours.

Canvas: its exporter (instructure/canvas-lms, lib/gradebook_exporter.rb), with its options. Moodle: the
plain text export, with several display types, with feedback, and after a spreadsheet. Blackboard: Learn
Original and Ultra. Brightspace: its export of points. Gradescope: *Download Grades*. Sakai: Gradebook.
Open edX: its grade report and profile report. Banner, PowerSchool, Schoology: lists of a section.
"""

import time

import pytest

from app.classes.people.csv_files import read_roster
from app.classes.people.csv_grades import read_grades
from app.classes.people.csv_points import plain_points
from app.core.errors import InputError
from tests.each import each

_TEST = "0f3a9c0f3a9c0f3a9c0f3a9c0f3a9c0f3a9c0f3a"
_ADA = [("Ada Lovelace", "004711")]
_HALF: list[dict[str, float]] = [{"Week 1": 7.5}]

People = list[tuple[str, str]]
Points = list[dict[str, float]]
# What a file is, who is in it, and what Week 1 is for each of them.
TABLES: dict[str, tuple[str | bytes, People, Points]] = {
    "canvas, first and last names apart": (
        "\ufeffLastName,FirstName,ID,SIS User ID,SIS Login ID,Integration ID,Root Account,Section,"
        "Notes,Week 1 (574283),Current Score,Final Grade\r\n,,,,,,,,,Manual Posting,,\r\n"
        "    Points Possible,,,,,,,,,10.00,(read only),(read only)\r\n"
        "Lovelace,Ada,1001,004711,ada,,uni.example,Lab A,,7.50,75.00,C\r\n"
        f"Student,Test,1003,,{_TEST},,uni.example,Lab A,,,,\r\n",
        _ADA,
        _HALF,
    ),
    "canvas, for a spreadsheet in German": (
        "sep=;\r\nStudent;ID;SIS User ID;SIS Login ID;Section;Week 1 (574283);Current Score\r\n"
        ";;;;;Manuelle Veröffentlichung;\r\n    Mögliche Punkte;;;;;10,00;(nur lesbar)\r\n"
        "Lovelace, Ada;1001;004711;ada;Gruppe A und Gruppe B;7,50;75,00\r\n"
        f"Testperson;1003;;{_TEST};Gruppe A;;\r\n",
        _ADA,
        _HALF,
    ),
    "canvas, thousands": (
        "Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (574283)\n,,,,,Muted\n"
        '    Points Possible,,,,,"1,500.00"\n"Lovelace, Ada",1,004711,ada,A,"1,000.00"\n',
        _ADA,
        [{"Week 1": 1000.0}],
    ),
    "moodle, three display types and feedback": (
        '"First name",Surname,"ID number",Institution,"Email address","Assignment: Week 1 (Real)",'
        '"Assignment: Week 1 (Percentage)","Assignment: Week 1 (Letter)","Feedback: Week 1"\n'
        'Ada,Lovelace,004711,,ada@x.example,7.50,"75.00 %",C,"Well done, 9"\n',
        _ADA,
        _HALF,
    ),
    "moodle, one display type and feedback": (
        "First name,Last name,ID number,Assignment: Week 1,Feedback: Week 1\nAda,Lovelace,004711,7.50,5\n",
        _ADA,
        _HALF,
    ),
    "moodle, French": (
        "Prénom;Nom de famille;Numéro d’identification;Devoir : Week 1 (Brut)\nAda;Lovelace;004711;7,50\n",
        _ADA,
        _HALF,
    ),
    "moodle, Chinese": (
        "\ufeff名,姓,学号,院系,作业:Week 1 (实数)\n小明,王,004711,,7.50\n",
        [("王小明", "004711")],
        _HALF,
    ),
    "moodle, Spanish": ("Nombre;Apellido(s);Número de ID;Tarea: Week 1 (Real)\nAda;Lovelace;004711;7,5\n", _ADA, _HALF),
    "moodle, saved by Excel in German": (
        "Vorname;Nachname;ID-Nummer;Abteilung;Aufgabe: Week 1 (Punkte);Kurs gesamt (Punkte)\r\n"
        "Jürgen;Müller;004711;;1.007,5;1.007,5\r\n".encode("cp1252"),
        [("Jürgen Müller", "004711")],
        [{"Week 1": 1007.5}],
    ),
    "excel, Unicode text": (
        "Name\tVorname\tMatrikelnr.\tWeek 1\r\nMüller\tJürgen\t004711\t7,5\r\n".encode("utf-16"),
        [("Jürgen Müller", "004711")],
        _HALF,
    ),
    "excel, a row as a cell": ('"id;name;Week 1"\r\n"004711;Ada Lovelace;7,5"\r\n', _ADA, _HALF),
    "excel for Mac": (b"id,name,Week 1\r004711,Zo\x8e M\x9fller,7.5\r", [("Zoé Müller", "004711")], _HALF),
    "excel in Chinese": ("学号,姓名,Week 1\r\n004711,王小明,7.5\r\n".encode("gb18030"), [("王小明", "004711")], _HALF),
    "excel in Japanese": (
        "学籍番号,氏名,Week 1\r\n004711,山田 太郎,7.5\r\n".encode("cp932"),
        [("山田 太郎", "004711")],
        _HALF,
    ),
    "excel in Russian": (
        "Имя;Фамилия;Индивидуальный номер;Week 1\r\nИван;Петров;004711;7,5\r\n".encode("cp1251"),
        [("Иван Петров", "004711")],
        _HALF,
    ),
    "excel in Polish": (
        "Imię;Nazwisko;Nr albumu;Week 1\r\nŁucja;Zając;004711;7,5\r\n".encode("cp1250"),
        [("Łucja Zając", "004711")],
        _HALF,
    ),
    "an id that Excel is told to leave": ('id,name,Week 1\n"=""004711""",Ada Lovelace,7.5\n', _ADA, _HALF),
    "ids as pandas writes them": ("id,name,Week 1\n4711.0,Ada Lovelace,7.5\n", [("Ada Lovelace", "4711")], _HALF),
    "blackboard original, German": (
        '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Availability"\t'
        '"Weighted Total [Total Pts: up to 10 Percentage] |574280"\t'
        '"Week 1 [Total Pts: 10 Score] |574283"\r\n'
        '"Lovelace"\t"Ada"\t"ada"\t"004711"\t"Yes"\t"75,00%"\t"7,50"\r\n'.encode("utf-16"),
        _ADA,
        _HALF,
    ),
    "blackboard ultra": (
        '"Last Name","First Name","Username","Student ID","Week 1 [Total Pts: 10] |574283"\n'
        '"Lovelace","Ada","ada","004711","7.5"\n',
        _ADA,
        _HALF,
    ),
    "brightspace": (
        "OrgDefinedId,Username,Last Name,First Name,"
        '"Week 1 Points Grade <Numeric MaxPoints:10 Weight:10 Category:Labs CategoryWeight:40>",'
        "Calculated Final Grade Numerator,Calculated Final Grade Denominator,End-of-Line Indicator\n"
        "#004711,#ada,Lovelace,Ada,7.5,7.5,10,#\n",
        _ADA,
        _HALF,
    ),
    "schoology": (
        "First Name,Last Name,Unique User ID,Section,Week 1 (10 pts)\nAda,Lovelace,004711,A,7.5\n",
        _ADA,
        _HALF,
    ),
    "sakai": (
        '"Student ID","Student Name","Section","Week 1 [10.0]","* Week 1","Course Grade"\n'
        '"004711","Lovelace, Ada","A","7.5","well done","C"\n',
        _ADA,
        _HALF,
    ),
    "gradescope": (
        "First Name,Last Name,SID,Email,Sections,Week 1,Week 1 - Max Points,"
        "Week 1 - Submission Time,Week 1 - Lateness (H:M:S),Total Lateness (H:M:S)\n"
        "Ada,Lovelace,004711,ada@x.example,A,7.5,10.0,2026-10-05 10:00,00:00:00,00:00:00\n",
        _ADA,
        _HALF,
    ),
    "powerschool": ("Student_Number\tLast_Name\tFirst_Name\tWeek 1\t\n004711\tLovelace\tAda\t7.5\t\n", _ADA, _HALF),
    "powerschool, a sheet of scores": (
        'Teacher Name:,"Byron, A",\nClass:,Systems,\nPoints Possible:,10.0,\nScore Type:,POINTS,\n'
        'Student Num,Student Name,Week 1\n004711,"Lovelace, Ada",7.5\n',
        _ADA,
        _HALF,
    ),
    "a list with a line above its titles and a mean below": (
        "Klausur Rechnerarchitektur;;;\n\nName;Vorname;Matrikelnr.;Week 1\n"
        "Lovelace;Ada;004711;7,5\nDurchschnitt;;;7,5\n",
        _ADA,
        _HALF,
    ),
    "titles with remarks": (
        "Name (Last, First);Student # (required);Week 1 / 10\nLovelace, Ada;004711;7,5\n",
        _ADA,
        _HALF,
    ),
    "pipes": ("id|name|Week 1\n004711|Ada Lovelace|7.5\n", _ADA, _HALF),
    "marks of direction": (
        "id,name,Week 1\n\u200e004711\u200e,\u200fعلي\u200f,\u200e7.5\n",
        [("علي", "004711")],
        _HALF,
    ),
    "wide digits": ("学号,姓名,Week 1\n００４７１１,王小明,７．５\n", [("王小明", "004711")], _HALF),
    "arabic digits": ("id,name,Week 1\n٠٠٤٧١١,علي,٧٫٥\n", [("علي", "004711")], _HALF),
    "letters in two parts, and hard spaces": (
        "id;name;Week 1\n004711;Jose\u0301\u00a0Curie;1\u202f234,5\n",
        [("José Curie", "004711")],
        [{"Week 1": 1234.5}],
    ),
}


@each("what", TABLES)
def test_a_table_of_another_system_has_its_people_and_their_points(what: str) -> None:
    content, people, points = TABLES[what]
    entries = read_roster(content).entries
    assert [(one.name, one.outside_id) for one in entries] == people
    grades = read_grades(content, ["Week 1"])
    assert [(one.name, one.outside_id) for one in grades.lines] == people
    assert [dict(one.points) for one in grades.lines] == points
    assert grades.most.get("Week 1", 10) in {10, 1500}
    assert not grades.left_out


def test_a_large_table_is_read_in_time() -> None:
    cells = ";".join(["1.5"] * 1_000)
    titles = ";".join(f"t{place}" for place in range(1_000))
    rows = "\n".join(f"{place};n{place};7,5;{cells}" for place in range(300))
    began = time.process_time()
    found = read_grades(f"id;name;Week 1;{titles}\n{rows}\n", ["Week 1"])
    assert found.lines[0].points == {"Week 1": 7.5}
    assert time.process_time() - began < 6  # 300,000 cells


@each(
    ("content", "people"),
    [
        ("Lovelace, Ada\nHopper, Grace\n", ["Ada Lovelace", "Grace Hopper"]),
        ('"Lovelace, Ada"\n"Plato"\n"Hopper, Grace"\n', ["Ada Lovelace", "Plato", "Grace Hopper"]),
        ("Name\nLovelace, Ada\nKing, Martin L., Jr.\n", ["Ada Lovelace", "Martin L. King, Jr."]),
        ("Students\nAda Lovelace\nSammy Davis, Jr.\nBo\n", ["Ada Lovelace", "Sammy Davis, Jr.", "Bo"]),
        ('Course: CS 101,,\nTerm: Fall,,\nRecord Number,Student Name,ID\n1,"Lovelace, Ada",7\n', ["Ada Lovelace"]),
        ("Name,Surname,ID\nAda,Lovelace,4711\n", ["Ada Lovelace"]),
        ("id,name,comment\n1,Ada,good; fine; ok\n2,Bo,a; b\n", ["Ada", "Bo"]),
        ("id,name\n1,Pääkkönen Äiti\n2,O’Brien\n".encode("cp1252"), ["Pääkkönen Äiti", "O’Brien"]),
    ],
)
def test_a_list_of_names_has_the_first_name_first(content: str | bytes, people: list[str]) -> None:
    assert [one.name for one in read_roster(content).entries] == people


def test_roles_of_other_systems_are_ours() -> None:
    found = read_roster("Name,SID,Role\nAda,1,Student\nBo,2,TA\nCy,3,Instructor\nDi,4,Non-editing teacher\nEd,5,Owl\n")
    roles = [one.role.word for one in found.entries if one.role]
    assert roles == ["student", "assistant", "teacher", "assistant"]
    assert found.left_out[0].startswith("line 6: a role is student")


def test_reports_of_open_edx_are_rosters_by_username_and_no_grades() -> None:
    report = "Student ID,Email,Username,Grade,Homework 1: Week 1,Enrollment Track\n17,a@x,ada,.7,.7,audit\n"
    profile = "id,username,name,email,year_of_birth,cohort\n17,ada,Ada Lovelace,a@x,,A\n"
    assert [one.outside_id for one in read_roster(report).entries] == ["ada"]
    (one,) = read_roster(profile).entries
    assert (one.name, one.outside_id, one.group) == ("Ada Lovelace", "ada", "A")
    with pytest.raises(InputError, match="shares from 0 to 1"):
        read_grades(report, ["Week 1"])


@each(
    ("content", "says"),
    [
        ("id,name,Assignment: Week 1 (Percentage)\n1,Ada,75\n", "export the points"),
        ("id;name;Week 1 [Total Pts: 10 Percentage] |5\n1;Ada;75\n", "export the points"),
        ("id,name,Feedback: Week 1\n1,Ada,5\n", "export the points"),
        ("id,name,Week 1 (late)\n1,Ada,5\n", "no column is an assignment"),
        ("name,Week 1\nLovelace, Ada,7\n", "3 cells under 2 titles"),
        ("id;name;Week 1\n1;A;9,333\n", "'9,333', with thousands or with decimals"),
        ("id,name,Week 1\n1,A,75 %\n", "'75 %'; points are a number"),
        ("id,name,Week 1\n1,A,8/10\n2,B,B+\n3,C,1e3\n", "'8/10'.*'B\\+'.*'1e3'"),
        ("<html><table><tr><td>Last Name</td></tr></table>", "HTML, XML or JSON"),
        ('[{"id": 1, "name": "Ada"}]', "HTML, XML or JSON"),
        (b"id,name,Week 1\n4711,Ada\0 Lovelace,7.5\n47,Bo,8\n", "not a text file"),
        ("성함,학과\n김철수,물리\n".encode("cp949"), "nothing tells the encoding"),
        ("王小明\n李华\n".encode("gb18030"), "nothing tells the encoding"),
        ("Иван Петров\n".encode("cp1251"), "nothing tells the encoding"),
    ],
)
def test_what_is_not_points_is_refused_with_what_would_be(content: str | bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_grades(content, ["Week 1"])


@each(
    ("cells", "points"),
    [
        (["9,333", "10,000", "0,500"], [9.333, 10, 0.5]),
        (["9.333", "10.000"], [9.333, 10]),
        (["1.333", "7,5"], [1333, 7.5]),
        (["1,333", "7.5"], [1333, 7.5]),
        (["1,234.50", "1'000"], [1234.5, 1000]),
        (["-0", "7.", ".5", "+5"], [0, 7, 0.5, 5]),
    ],
)
def test_a_comma_is_read_by_the_other_cells_of_the_file(cells: list[str], points: list[float]) -> None:
    rows = "\n".join(f"{place};n{place};{cell}" for place, cell in enumerate(cells))
    found = read_grades(f"id;name;Week 1\n{rows}\n", ["Week 1"])
    assert [one.points.get("Week 1") for one in found.lines] == points
    assert "-" not in str(found.lines[0].points["Week 1"])


def test_a_hyphen_or_a_dash_says_nothing_and_what_is_excused_is_named() -> None:
    found = read_grades("id,name,Week 1\n1,A,-\n2,B,–\n3,C,\n4,D,Excused\n5,E,7\n", ["Week 1"])
    assert [dict(one.points) for one in found.lines] == [{}, {}, {}, {}, {"Week 1": 7.0}]
    assert [says.partition(";")[0] for says in found.left_out] == ["line 5: Week 1 is 'Excused'"]


@each("most", ["Week 1 (100 pts)", "Week 1 [Total Pts: up to 100 Score] |5", "Week 1 / 100"])
def test_the_most_points_of_a_column_are_known(most: str) -> None:
    assert read_grades(f"id;name;{most}\n1;Ada;75\n", ["Week 1"]).most == {"Week 1": 100.0}


def test_a_number_in_the_name_of_an_assignment_is_no_maximum() -> None:
    titles = "id;name;Assignment: Week 1 [3] (Real);Week 1 [4];Week 2 (10 pts)"
    found = read_grades(f"{titles}\n1;Ada;7;8;9\n", ["Week 1 [3]", "Week 1 [4]", "Week 2"])
    assert found.lines[0].points == {"Week 1 [3]": 7.0, "Week 1 [4]": 8.0, "Week 2": 9.0}
    assert found.most == {"Week 2": 10.0}


def test_no_cell_is_read_as_what_it_does_not_say() -> None:
    for cell in ("", "-", "75%", "1e3", "8/10", "NaN", "inf", "0x10", "1_000", "7,5,5", "1.2.3", "½"):
        assert not any(plain_points(cell, sign) for sign in ("", ",", ".")), cell
