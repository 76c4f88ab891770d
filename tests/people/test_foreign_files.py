"""Rosters and grades with the columns and rows that other systems write.

Canvas: its gradebook exporter (instructure/canvas-lms, lib/gradebook_exporter.rb). Moodle: the plain
text export of its gradebook, in English and German. Google Classroom: "Download all grades as CSV".
Blackboard: "Download grades" in Learn Original. D2L: OrgDefinedId. HISinOne: a list of participants.
"""

import pytest

from app.classes.people.classes import Member, Role
from app.classes.people.csv_files import ReadRoster, read_roster
from app.classes.people.csv_grades import GradeColumn, Graded, read_grades, write_grades
from app.classes.people.persons import clean_name
from app.classes.people.rosters import roster_difference
from app.core.errors import InputError
from tests.each import each

CANVAS_POSTED = """Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (574283),Current Score
,,,,,Manual Posting,
    Points Possible,,,,,10.00,(read only)
"Lovelace, Ada",1001,4711,ada,Group A,7.50,75
"O'Brien, Grace",1002,4712,grace,Group A,EX,
"Student, Test",1003,,a1b2,Group A,,
"""
CANVAS_WITHOUT_SIS = """Student,ID,SIS Login ID,Section,Week 1 (574283)
    Points Possible,,,,10.00
"O'Brien, Grace",1002,grace,Group A,N/A
"Lovelace, Ada",1001,ada,Group A,7.50
"""
GOOGLE = """Last Name,First Name,Email Address,Week 1
Date,,,2026-10-05
Points,,,10
Lovelace,Ada,ada@example.org,7.5
"""
MOODLE_GERMAN = """Vorname;Nachname;ID-Nummer;E-Mail-Adresse;Aufgabe:Week 1 (Punkte);Letzter Download aus diesem Kurs
Ada;Lovelace;4711;ada@example.org;9,33;1764000000
Grace;Höpper;4712;grace@example.org;-;1764000000
"""
BLACKBOARD = (
    '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Week 1 [Total Pts: 10 Score] |574283"\n'
    '"Lovelace"\t"Ada"\t"ada"\t"4711"\t"7.5"\n'
)
D2L = "OrgDefinedId,Last Name,First Name,Week 1 Points Grade,End-of-Line Indicator\n#4711,Lovelace,Ada,7.5,#\n"
HIS = "Matr.-Nr.;Nachname;Vorname;Studiengang\n004711;Lovelace;Ada;Informatik\n"
FRENCH = "Nom,Prénom,Numéro étudiant,Groupe TD\nLovelace,Ada,4711,A\n"


@each(
    ("file", "people", "unused", "left_out"),
    [
        (CANVAS_POSTED, [("Ada Lovelace", "4711"), ("Grace O'Brien", "4712")], ["Week 1 (574283)", "Current Score"], 3),
        (CANVAS_WITHOUT_SIS, [("Grace O'Brien", "1002"), ("Ada Lovelace", "1001")], ["Week 1 (574283)"], 1),
        (GOOGLE, [("Ada Lovelace", "")], ["Email Address", "Week 1"], 2),
        (MOODLE_GERMAN, [("Ada Lovelace", "4711"), ("Grace Höpper", "4712")],
         ["E-Mail-Adresse", "Aufgabe:Week 1 (Punkte)", "Letzter Download aus diesem Kurs"], 0),
        (BLACKBOARD, [("Ada Lovelace", "4711")], ["Week 1 [Total Pts: 10 Score] |574283"], 0),
        (D2L, [("Ada Lovelace", "4711")], ["Week 1 Points Grade", "End-of-Line Indicator"], 0),
        (HIS, [("Ada Lovelace", "004711")], ["Studiengang"], 0),
        (FRENCH, [("Ada Lovelace", "4711")], ["Groupe TD"], 0),
    ],
    ids=["canvas", "canvas without SIS", "google", "moodle", "blackboard", "d2l", "his", "french"],
)  # fmt: skip
def test_a_roster_has_its_people_and_says_what_is_not_used(
    file: str, people: list[tuple[str, str]], unused: list[str], left_out: int
) -> None:
    found = read_roster(file)
    assert [(one.name, one.outside_id) for one in found.entries] == people
    assert list(found.unused) == unused
    assert len(found.left_out) == left_out


@each(
    ("file", "points", "left_out"),
    [
        (CANVAS_POSTED, [{"Week 1": 7.5}, {}], ["line 5: Week 1 is 'EX'"]),
        (CANVAS_WITHOUT_SIS, [{}, {"Week 1": 7.5}], ["line 3: Week 1 is 'N/A'"]),
        (GOOGLE, [{"Week 1": 7.5}], []),
        (MOODLE_GERMAN, [{"Week 1": 9.33}, {}], []),
        (BLACKBOARD, [{"Week 1": 7.5}], []),
    ],
    ids=["canvas", "canvas without SIS", "google", "moodle", "blackboard"],
)
def test_grades_are_read_and_a_cell_that_is_none_is_named(
    file: str, points: list[dict[str, float]], left_out: list[str]
) -> None:
    found = read_grades(file, ["Week 1"])
    assert [dict(one.points) for one in found.lines] == points
    assert [says.partition(";")[0] for says in found.left_out] == left_out


def test_one_bad_line_never_refuses_the_others() -> None:
    lines = [f"{place},Student {place}" for place in range(299)]
    found = read_roster("\n".join(["id,name", *lines, "300,\x01Ada"]))
    assert len(found.entries) == 299
    assert found.left_out[0].startswith("line 301: a name must have")


def test_an_id_that_a_spreadsheet_has_shortened_names_the_cure() -> None:
    found = read_roster("id,name\n1.00E+06,Ada\n1000001,Bo")
    assert [one.name for one in found.entries] == ["Bo"]
    assert "format the column of ids as text" in found.left_out[0]
    with pytest.raises(InputError, match="a spreadsheet has shortened"):
        read_roster("id,name\n1.00E+06,Ada\n1.00E+06,Bo")


def members(*people: tuple[str, str]) -> list[Member]:
    return [
        Member(
            class_id=1, person=place, learner=f"l{place}", role=Role.STUDENT, name=name,
            outside_id=outside, has_code=False,
        )
        for place, (name, outside) in enumerate(people, 1)
    ]  # fmt: skip


def entries(text: str) -> ReadRoster:
    return read_roster(text)


def test_an_id_that_lost_its_zeros_is_the_same_and_keeps_them() -> None:
    found = roster_difference(members(("Ada", "007")), entries("id,name\n7,Ada").entries)
    assert (found.added, found.changed, found.same) == ((), (), 1)
    found = roster_difference(members(("Ada", "7")), entries("id,name\n007,Ada").entries)
    assert [one.listed.outside_id for one in found.changed] == ["007"]
    both = members(("Ada", "007"), ("Bo", "07"))
    assert len(roster_difference(both, entries("id,name\n7,Cy").entries).added) == 1


def test_names_are_one_however_their_letters_are_composed() -> None:
    composed, decomposed = ("Jos\N{LATIN SMALL LETTER E WITH ACUTE}", "Jose\N{COMBINING ACUTE ACCENT}")
    assert clean_name(decomposed) == composed
    persian = "علی\N{ZERO WIDTH NON-JOINER}رضا"
    assert read_roster(f"name\n{persian}").entries[0].name == persian


def test_what_moodle_and_canvas_would_refuse_is_not_written() -> None:
    rows = [Graded(1, "4711", "Ada Lovelace", (1.5,)), Graded(2, "", "Bo", (2.0,))]
    columns = [GradeColumn("Week 1", 10.0)]
    for form in ("moodle", "canvas"):
        assert "Bo" not in write_grades(columns, rows, form)
    assert write_grades(columns, rows, "excel").splitlines() == [
        "number;id;name;Week 1", "1;4711;Ada Lovelace;1,5", "2;;Bo;2",
    ]  # fmt: skip
