"""Rosters and grades as CSV, as other programs write and read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from app.classes.people.classes import Role
from app.classes.people.csv_files import MOST_LINES, RosterEntry, read_roster
from app.classes.people.csv_grades import GradeColumn, Graded, read_grades, write_grades
from app.classes.people.csv_text import guarded, unguarded
from app.core.errors import InputError
from tests.each import each

ROSTER = "id;name;role\n4711;Ada Løvelace;student\n4712;Grâce Höpper;Teacher\n"
# As Canvas and Moodle export a gradebook.
CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Ring (48123),Current Score\r\n"
    "    Points Possible,,,,,10,(read only)\r\n"
    '"Lovelace, Ada",311,4711,ada@example.org,One,7.5,75\r\n'
)
MOODLE = (
    '"First name","Last name","ID number",Institution,Department,"Email address",'
    '"Assignment: Ring (Real)","Course total (Real)","Last downloaded from this course"\n'
    "Ada,Lovelace,4711,,,ada@example.org,7.50,7.50,1700000000\n"
    "Grace,Hopper,4712,,,grace@example.org,-,-,1700000000\n"
)


@each("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@each("separator", [";", ",", "\t"])
def test_a_roster_is_read_in_every_usual_encoding_and_separator(encoding: str, separator: str) -> None:
    found = read_roster(ROSTER.replace(";", separator).encode(encoding))
    assert list(found.entries) == [
        RosterEntry(line=2, name="Ada Løvelace", outside_id="4711", role=Role.STUDENT),
        RosterEntry(line=3, name="Grâce Höpper", outside_id="4712", role=Role.TEACHER),
    ]


def test_names_may_be_pasted_one_per_line() -> None:
    assert [one.name for one in read_roster("Ada Lovelace\n\nGrace Hopper\n").entries] == [
        "Ada Lovelace",
        "Grace Hopper",
    ]
    assert read_roster("Ada,4711\nGrace,4712").entries[1].outside_id == "4712"


@each("export", [CANVAS, MOODLE])
def test_exports_of_canvas_and_moodle_are_rosters_and_grades(export: str) -> None:
    first = read_roster(export.encode()).entries[0]
    assert (first.name, first.outside_id) == ("Ada Lovelace", "4711")
    read = read_grades(export, ["Ring"])
    assert read.lines[0].points == {"Ring": 7.5}
    assert all(line.points == {} for line in read.lines[1:])


@each(
    ("content", "says"),
    [
        ("", "this roster is empty"),
        ("id,name\n", "nobody is on it"),
        ("Lovelace,Ada\nHopper,Grace\n", "name the columns in the first line"),
        ('id,name\n1,"Ada\n', "line 2: this is not CSV"),
        ("id,name\n1,\x01Ada\n", "line 2: a name must have"),
        ("id,name,role\n1,Ada,teachr\n", "line 2: a role is .* did you mean 'teacher'"),
        ("PK\0\3\0\0", "not a text file"),
        ("name\n" + "Ada\n" * (MOST_LINES + 1), "more than 10,000 lines"),
    ],
)
def test_a_roster_that_cannot_be_read_says_where(content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_roster(content)


@each("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "x;=1", 'x,"=1', "'=1", "\uff1d1"])
def test_no_cell_begins_a_formula_with_any_separator(cell: str) -> None:
    written = write_grades([], [Graded(1, cell, cell, ())], "ours")
    for separator in ",;\t":
        cells = re.split(f"[{separator}\r\n]", written)  # as a program that knows no quotes
        assert not [c for c in cells if c.strip(' "')[:1] in tuple("=+-@\uff1d")]


@given(some.text(max_size=8, alphabet="=+-@',;\t\"a \uff1d"))
def test_what_guards_a_cell_is_taken_off_again(text: str) -> None:
    assert unguarded(guarded(text)) == text


@each("form", ["ours", "canvas", "moodle", "excel"])
def test_grades_that_were_written_are_read_again(form: str) -> None:
    columns = [GradeColumn("Ring", 10.0), GradeColumn("=Tree; 2", 2.5), GradeColumn("total")]
    rows = [
        Graded(7, "4711", "Ada Byron Lovelace", (0.1 + 0.2, None, 0.3)),
        Graded(8, "4712", "=Plato", (10.0, 2.5, 12.5)),
    ]
    text = write_grades(columns, rows, form)  # type: ignore[arg-type]
    read = read_grades(text.encode("utf-8-sig"), ["Ring", "=Tree; 2"])
    assert [line.points for line in read.lines] == [{"Ring": 0.3}, {"Ring": 10.0, "=Tree; 2": 2.5}]
    assert [(line.name, line.outside_id) for line in read.lines] == [("Ada Byron Lovelace", "4711"), ("=Plato", "4712")]
    assert read.left == ()


@each(
    ("content", "says"),
    [
        ("", "this file is empty"),
        ("Ring\n7\n", "no column says whose points"),
        ("id,Rings\n1,7\n", "no column is an assignment.*did you mean 'Ring'"),
        ("id,Ring,Ring\n1,7,7\n", "two columns are called 'Ring'"),
        ("id,Ring\n1,lots\n", "line 2: Ring is 'lots'; points are a number"),
        ("id,Ring\n1,1e999\n", "line 2: Ring is '1e999'"),
        ("id,Ring\n1,nan\n2,inf\n", "line 2: .*; line 3"),
    ],
)
def test_a_file_of_grades_that_cannot_be_read_says_where(content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_grades(content, ["Ring"])
