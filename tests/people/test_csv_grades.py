"""Points as CSV: written for us, Canvas, Moodle and spreadsheets, and read again as we wrote them."""

import csv
import io

import pytest

from app.classes.people.assignments import Assignment, AssignmentEntry
from app.classes.people.cells import Cell
from app.classes.people.classes import Member, Role
from app.classes.people.csv_grades import Book, Format, PointsDifference, columns_of, grades_file, points_difference
from app.classes.people.gradebook import WHOLE
from app.classes.people.policy import Policy
from app.core.errors import InputError
from tests.each import each


def member(person: int, name: str, outside_id: str) -> Member:
    return Member(
        class_id=1, person=person, learner=f"l{person}", role=Role.STUDENT, name=name, outside_id=outside_id,
        has_code=False,
    )  # fmt: skip


def assignment(number: int, title: str, points: float = 10.0) -> Assignment:
    entries = (AssignmentEntry("collectives/ring", points / 2), AssignmentEntry("memory/adam", points / 2))
    return Assignment(id=number, class_id=1, title=title, policy=Policy(), entries=entries)


ADA, PLATO, CY = member(7, "Ada Byron Lovelace", "007"), member(8, "=Plato", "4712"), member(9, "Cy", "")
EVERYONE = [ADA, PLATO, CY]
RING, TREE = assignment(1, "Ring"), assignment(2, "=Tree; 2", 2.5)
BOOK: Book = {
    1: {(7, WHOLE): Cell(0.1 + 0.2), (8, WHOLE): Cell(10.0), (9, WHOLE): Cell(7 / 6)},
    2: {(8, WHOLE): Cell(1.125)},
}


def written(form: Format, *assignments: Assignment, lowest: int | None = None) -> list[list[str]]:
    text = grades_file(columns_of(assignments), EVERYONE, BOOK, form, lowest)
    return list(csv.reader(io.StringIO(text), delimiter=";" if form == "excel" else ","))


def difference(text: str | bytes, *assignments: Assignment) -> PointsDifference:
    choices = [columns_of(assignments), *(columns_of((), one) for one in assignments)]
    return points_difference(text, choices, EVERYONE, {one.id: BOOK.get(one.id, {}) for one in assignments})


def changes(found: PointsDifference) -> list[tuple[str, str, float | None, float | None]]:
    return [(one.member.name, one.column.name, one.before, one.after) for one in found.changes]


def test_the_file_for_each_program_is_as_it_reads_it() -> None:
    assert written("ours", RING, TREE, lowest=0) == [
        ["number", "id", "name", "Ring", "'=Tree; 2", "total", "overall %"],
        ["7", "007", "Ada Byron Lovelace", "0.3", "", "0.3", "2.4"],
        ["8", "4712", "'=Plato", "10", "1.125", "11.125", "89"],
        ["9", "", "Cy", "1.166667", "", "1.166667", "9.333333"],
    ]
    assert written("excel", RING, TREE)[1:3] == [
        ["7", "007", "Ada Byron Lovelace", "0,3", "", "0,3"],
        ["8", "4712", "'=Plato", "10", "1,125", "11,125"],
    ]
    assert written("canvas", RING) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Ring"],
        ["    Points Possible", "", "", "", "", "10"],
        ["Lovelace, Ada Byron", "", "007", "", "", "0.3"],
        ["'=Plato", "", "4712", "", "", "10"],
    ]
    assert written("moodle", RING) == [
        ["First name", "Last name", "ID number", "Ring"],
        ["Ada Byron", "Lovelace", "007", "0.3"],
        ["'=Plato", "", "4712", "10"],
    ]


@each("form", ["ours", "excel"])
@each("lowest", [None, 1])
@each("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_was_written_changes_nothing_when_it_comes_back(form: Format, lowest: int | None, encoding: str) -> None:
    text = grades_file(columns_of([RING, TREE]), EVERYONE, BOOK, form, lowest)
    found = difference(text.encode(encoding), RING, TREE)
    assert (changes(found), found.same, found.left_out) == ([], 4, ())


def test_titles_of_sums_and_of_identities_are_good_names_of_assignments() -> None:
    titles = assignment(1, "total"), assignment(2, "Name"), assignment(3, "Twice"), assignment(4, "twice")
    book = {1: BOOK[1], 2: BOOK[2], 3: BOOK[1], 4: BOOK[2]}
    text = grades_file(columns_of(titles), EVERYONE, book, "ours", 0)
    assert text.startswith("number,id,name,total,Name,Twice [3],twice [4],total,overall %")
    found = difference(text.replace("10,1.125,10,1.125", "9,2.125,10,1.125"), *titles)
    assert [one for one in changes(found) if one[2]] == [
        ("=Plato", "total", 10.0, 9.0),
        ("=Plato", "Name", 1.125, 2.125),
    ]
    assert not found.left_out


def test_columns_are_those_of_the_assignment_of_which_most_are_there() -> None:
    found = difference("id,collectives/ring,memory/adam\n4712,2,\n", RING)
    assert changes(found) == [("=Plato", "collectives/ring", None, 2.0)]


def test_a_student_is_found_by_id_then_by_number_then_by_the_one_name() -> None:
    text = "number,id,name,Ring\n8,7,Cy,1\n8,,Cy,2\n,,cy,3\n,,Cy,4\n,12,Cy,5\n6,,Cy,6\nx,,Cy,7\n,1E+05,Cy,8\n"
    found = difference(text, RING)
    assert [one[::3] for one in changes(found)] == [("Ada Byron Lovelace", 1.0), ("=Plato", 2.0), ("Cy", 3.0)]
    assert list(found.left_out) == [
        "line 8: number is 'x', and a whole number is expected",
        "line 9: the id is '1E+05', which a spreadsheet has shortened: format the column of ids as text, and save the "
        "file again",
        "line 5: Cy again, as on line 4",
        "line 6: no student has the id '12'; did you mean '4712'?",
        "line 7: no student has the number 6",
    ]


@each(
    ("content", "says"),
    [
        ("", "this file is empty"),
        ("Ring\n7\n", "line 1: no column is called number, id or name; .* Wallclock's own file"),
        ("Student ID,Student Name,Ring\n1,A,7\n", "no column is called number, id or name"),
        ("id,Rings\n1,7\n", "no column is an assignment.*did you mean 'Ring'"),
        ("id,Ring (10 pts)\n1,7\n", "no column is an assignment"),
        ("id,Ring,ring\n1,7,7\n", "two columns are called 'ring'"),
        ("id,Ring\n1,lots\n", "line 2: Ring is 'lots'; points are a number"),
        ("id,Ring\n1,1e999\n2,nan\n3,inf\n4,8/10\n5,75 %\n6,B+\n", "1e999.*nan.*inf.*8/10.*75 %.*and 1 more"),
    ],
)
def test_a_file_that_is_not_ours_says_where_and_what_to_do(content: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        difference(content, RING)


@each(
    ("system", "content"),
    [
        ("Canvas", "Student,ID,SIS User ID,SIS Login ID,Section,Ring\n    Points Possible,,,,,10\nA,1,2,a,S,7\n"),
        ("Moodle", 'First name,Last name,ID number,Email address,"Assignment: Ring (Real)"\nAda,Byron,007,a@x,7.50\n'),
        ("Blackboard", '"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Ring"\nByron\tAda\tada\t007\t7.5\n'),
        ("Open edX", "Student ID,Email,Username,Grade,Ring,Enrollment Track\n17,a@x,ada,.7,.7,audit\n"),
        ("Canvas", grades_file(columns_of([RING]), EVERYONE, BOOK, "canvas")),
        ("Moodle", grades_file(columns_of([RING]), EVERYONE, BOOK, "moodle")),
    ],
)
def test_grades_of_other_systems_are_refused_by_name_with_what_to_do(system: str, content: str) -> None:
    says = f"line 1: this is a file of {system}; points are read from Wallclock's own file alone: download the grades"
    with pytest.raises(InputError, match=says):
        difference(content, RING)


@each(
    ("separator", "cell", "points"),
    [
        (",", "9.333", 9.333), (",", "7,5", 7.5), (",", "0,125", 0.125), (",", "7.", 7), (",", ".5", 0.5),
        (",", "+5", 5), (",", "-0", 0), (";", "9,333", 9.333), (";", "7.5", 7.5), (";", "1,333333", 1.333333),
        ("\t", "7,5", 7.5), ("\t", "9.333", 9.333), (",", "1,333", None), (";", "1.333", None), ("\t", "1,333", None),
        (";", "1.234,5", None), (",", "1 000", None), (",", "½", None), (",", "1_0", None), (",", "0x10", None),
        (",", "7,5,5", None), (",", "٧", None),
    ],
)  # fmt: skip
def test_points_are_read_with_a_point_or_a_comma_and_never_as_thousands(
    separator: str, cell: str, points: float | None
) -> None:
    text = separator.join(["id", "Ring", "total"]) + "\n" + separator.join(["007", f'"{cell}"', "1"]) + "\n"
    if points is None:
        with pytest.raises(InputError, match=f"line 2: Ring is '{cell}'[;,]"):
            difference(text, RING)
    else:
        assert [one[3] for one in changes(difference(text, RING))] == [points]
        assert "-" not in str(changes(difference(text, RING))[0][3])


@each(
    ("cell", "is_same"),
    [("1.166667", True), ("1.1667", True), ("1.17", True), ("1.2", False), ("1.18", False), ("1.1668", False)],
)
def test_what_a_spreadsheet_has_rounded_is_no_change(cell: str, is_same: bool) -> None:
    assert difference(f"number,Ring\n9,{cell}\n", RING).same == is_same


@each(("cell", "is_taken"), [("1000", True), ("1000.01", False), ("0", True), ("-0.01", False)])
def test_points_are_from_0_to_1000(cell: str, is_taken: bool) -> None:
    found = difference(f"id,Ring\n007,{cell}\n4712,3\n", RING)
    assert len(found.changes) == 1 + is_taken
    assert bool(found.left_out) != is_taken


def test_a_bad_cell_an_empty_one_and_a_column_of_others_refuse_nothing_else() -> None:
    text = "id,Ring,Bonus,total,Extra\n007,EX,1,5,\n4712,,1,5,\n,3,1,5,\n"
    found = difference(text, RING, assignment(2, "Tree"))
    assert changes(found) == []
    assert list(found.left_out) == [
        "the column 'Bonus' is none of this class",
        "the column 'Extra' is none of this class",
        "line 2: Ring is 'EX'; points are a number such as 7.5, empty, or excused",
        "line 4: no student, or more than one, is called ''",
    ]


def test_a_file_without_a_good_cell_is_refused_and_with_one_it_is_not() -> None:
    with pytest.raises(InputError, match="line 2: Ring is 'x'.*line 3: the id is '1E\\+05'"):
        difference("id,Ring\n007,x\n1E+05,1\n", RING)
    assert len(difference("id,Ring\n007,x\n4712,1\n", RING).changes) == 1
    assert difference("id,Ring\n007,\n", RING).changes == ()


@each(("cell", "after"), [("EXCUSED", None), ("excused", None), ("0", 0.0)])
def test_who_is_excused_in_a_file_has_no_points(cell: str, after: float | None) -> None:
    assert [one[2:] for one in changes(difference(f"number,Ring\n8,{cell}\n", RING))] == [(10.0, after)]


def test_the_number_of_a_student_may_be_long_and_is_no_one_elses() -> None:
    found = difference("number,Ring\n" + "8" * 30 + ",1\n8,2\n٧,3\n", RING)
    assert changes(found) == [("=Plato", "Ring", 10.0, 2.0)]
    assert found.left_out == (
        "line 4: number is '٧', and a whole number is expected",
        f"line 2: no student has the number {'8' * 18}",
    )


def test_another_change_of_points_has_another_digest() -> None:
    digests = [
        difference(f"number,Ring\n{line}\n", RING).digest for line in ("8,9", "8,9.0", "8,excused", "9,9", "8,8.5")
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 4
