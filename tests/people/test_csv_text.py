"""CSV as text: encodings, separators, and cells that no spreadsheet runs."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from app.classes.people.csv_text import MOST_LINES, csv_text, decode_csv, guard_cell, read_csv, unguard_cell
from app.core.errors import InputError
from tests.each import each

TABLE = "id;name\n4711;Ada Løvelace\n4712;Grâce Höpper\n"


def cells(content: bytes | str) -> list[tuple[str, ...]]:
    return [row.cells for row in read_csv(content).rows]


@each("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
@each("separator", [";", ",", "\t"])
@each("ends", ["\n", "\r\n"])
def test_a_table_is_read_in_every_encoding_and_separator(encoding: str, separator: str, ends: str) -> None:
    content = TABLE.replace(";", separator).replace("\n", ends).encode(encoding)
    assert cells(content) == [("id", "name"), ("4711", "Ada Løvelace"), ("4712", "Grâce Höpper")]


@each(
    "content",
    [
        "Иван Петров\n".encode("cp1251"),
        "Łucja Zając\n".encode("cp1250"),
        "王小明,李华\n".encode("gb18030"),
        "김철수\n".encode("cp949"),
        b"id,name\r1,Zo\x8e\r",  # Excel for Mac, "CSV (Macintosh)"
    ],
)
def test_other_encodings_are_refused_with_the_cure(content: bytes) -> None:
    with pytest.raises(InputError, match="save it as CSV UTF-8"):
        decode_csv(content)


@each("name", ["Pääkkönen Äiti", "O’Brien", "Müller–Lüdenscheidt", "“Zoë”", "Žižek", "Œuvre"])
def test_names_of_western_europe_are_read_in_windows_1252(name: str) -> None:
    assert decode_csv(name.encode("cp1252")) == name


@each(
    ("content", "says"),
    [
        ("", "this file is empty"),
        (" \n\r\n;;\n", "this file is empty"),
        ('id,name\n1,"Ada\n', "line 2: this is not CSV"),
        ("PK\0\3\0\0", "not a text file"),
        (b"id,name,Week 1\n4711,Ada\0 Lovelace,7.5\n47,Bo,8\n", "not a text file"),
        ("<html><table><tr><td>Last Name</td></tr></table>", "HTML, XML or JSON"),
        ('[{"id": 1, "name": "Ada"}]', "HTML, XML or JSON"),
        ("name\n" + "Ada\n" * (MOST_LINES + 1), "more than 10,000 lines"),
        ("a\n" + "," * 2_000, "line 2: more than 2,000 columns"),
        (b"x" * ((8 << 20) + 1), "larger than 8 MiB"),
        ("x" * ((8 << 20) + 1), "larger than 8 MiB"),
    ],
)
def test_what_is_not_a_table_is_refused_with_its_line(content: bytes | str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_csv(content)


def test_as_many_lines_and_columns_as_the_limits_say_are_read() -> None:
    assert len(read_csv("name\n" + "Ada\n" * MOST_LINES).rows) == MOST_LINES + 1
    assert len(cells("," * 1_999 + "x")[0]) == 2_000
    assert len(decode_csv(b"x" * (8 << 20))) == 8 << 20


def test_rows_have_the_number_of_their_line_and_blank_ones_are_none() -> None:
    rows = read_csv('sep=;\r\n\r\nid;name\r\n;\r\n1;"Ada\r\nLovelace"\r\n').rows
    assert [(row.number, row.cells) for row in rows] == [(3, ("id", "name")), (6, ("1", "Ada\r\nLovelace"))]
    assert [row.number for row in read_csv("\n\nid,name\n1,Ada\n").rows] == [3, 4]


def test_a_separator_is_what_most_lines_have_equally_often() -> None:
    assert cells("id,name,comment\n1,Ada,good; fine; ok\n2,Bo,a; b\n")[1] == ("1", "Ada", "good; fine; ok")
    assert cells('id;name\n1;"Lovelace, Ada"\n2;"Hopper, Grace"\n')[1] == ("1", "Lovelace, Ada")
    assert cells("id;name\n1;Lovelace, Ada\n2;Hopper, Grace\n")[1] == ("1", "Lovelace, Ada")


@each(
    ("text", "separator"),
    [
        ("a;b,c\n1;2,3\n", ";"), ("a,b\n1,2\n", ","), ("a\tb,c\n1\t2,3\n", "\t"), ("a\n1\n", ";"),
        ("a;b;c,d\n", ";"), ("a,b,c;d\n", ","), ("sep=,\na;b;c,d\n", ","), ('"SEP=;"\n1,2;3\n', ";"),
        ("sep=|\na,b\n", ","), ("\ufeffsep=\t\na,b\n", "\t"),
    ],
)  # fmt: skip
def test_of_two_separators_the_one_that_agrees_more_then_more_often_then_the_rarer(text: str, separator: str) -> None:
    assert read_csv(text).separator == separator


@each(("text", "refused"), [("<b>x", True), (' {"a": 1}', True), ("[]", True), ("<3,x", False), ("{x},1", False)])
def test_markup_is_told_from_a_table(text: str, refused: bool) -> None:
    if refused:
        with pytest.raises(InputError, match="HTML, XML or JSON"):
            read_csv(text)
    else:
        assert len(read_csv(text).rows) == 1


def test_a_cell_that_is_not_there_is_empty() -> None:
    (row,) = read_csv("a,b\n").rows
    assert [row.cell(place) for place in (0, 1, 2, None)] == ["a", "b", "", ""]


def test_a_cell_loses_what_a_spreadsheet_or_a_page_has_added() -> None:
    assert cells('id,name\n"=""004711""",\u200e\u200fعلي\u200f \n')[1] == ("004711", "علي")
    assert read_csv("id,name\n1").rows[1].cell(1) == ""
    assert cells('id\n"="" 4711 """\n')[1] == ("4711",)


@each("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "x;=1", 'x,"=1', "'=1", "\uff1d1"])
def test_no_cell_begins_a_formula_with_any_separator(cell: str) -> None:
    written = csv_text([(cell, cell, "1")])
    for separator in ",;\t":
        found = re.split(f"[{separator}\r\n]", written)  # as a program that knows no quotes
        assert not [c for c in found if c.strip(' "')[:1] in tuple("=+-@\uff1d")]


@given(some.text(max_size=8, alphabet="=+-@',;\t\"a \uff1d"))
def test_what_guards_a_cell_is_taken_off_again(text: str) -> None:
    assert unguard_cell(guard_cell(text)) == text


def test_a_large_table_is_read_in_time() -> None:
    row = ";".join(["1.5"] * 1_000)
    began = time.process_time()
    assert len(read_csv("\n".join([row] * 300)).rows) == 300
    assert time.process_time() - began < 6  # 300,000 cells
