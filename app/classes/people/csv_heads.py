"""Which column of a CSV file says what about a person."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from app.classes.people import csv_titles
from app.classes.people.csv_text import CsvRow, in_ascii_digits
from app.core.errors import InputError
from app.core.translation import translate
from app.server.db.people import SUBJECT_LIMIT

_SHORTENED = re.compile(r"\d([.,]\d+)?E\+?\d+", re.IGNORECASE)
_TEST_LOGIN = re.compile(r"[0-9a-f]{40}")  # of Canvas's test student, whatever it is called
_TITLED = 12  # rows at the beginning of a file among which the titles are looked for
_CLEAR = 2  # columns about people by which a row below the first is known as that of the titles
# What follows a comma in a name that does not begin with the last name.
_SUFFIX = re.compile(r"(?:jr|sr|ii|iii|iv|v|phd|ph\.d|md|m\.d|esq|msc|bsc|ma|ba)\.?", re.IGNORECASE)
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")


class Head:
    """Which column says what about a person."""

    def __init__(self, cells: Sequence[str]) -> None:
        keys = [csv_titles.title_keys(cell) for cell in cells]

        def places(known: Sequence[str]) -> list[int]:
            first = (
                next((place for place, some in enumerate(keys) if some[form] == key), None)
                for key in known
                for form in (0, 1)
            )
            return list(dict.fromkeys(place for place in first if place is not None))

        self.names = places(csv_titles.NAME)
        self.first, self.last = places(csv_titles.FIRST), places(csv_titles.LAST)
        self.ids, self.roles = places(csv_titles.ID), places(csv_titles.ROLE)
        self._split_names(keys)
        self.numbers, self.groups = places(csv_titles.NUMBER), places(csv_titles.GROUP)
        self.known = (self.names, self.first, self.last, self.ids, self.roles, self.numbers, self.groups)
        self.places = {place for some in (*self.known, places(csv_titles.OTHERS)) for place in some}
        self.width = len(cells)
        whole = {some[0] for some in keys}
        self.canvas = "sisloginid" in whole or {"student", "id"} <= whole
        self.open_edx = not whole.isdisjoint(csv_titles.OPEN_EDX)
        if self.open_edx:  # its ID is a number of its own
            self.ids.sort(key=lambda place: keys[place][0] != "username")
        self.last_first = self.canvas
        self.unused = tuple(cell for place, cell in enumerate(cells) if cell and place not in self.places)

    def _split_names(self, keys: Sequence[tuple[str, str]]) -> None:
        """A column Name beside one of first names has the last names, and the other way round."""
        alone = bool(self.names) and keys[self.names[0]][0] in csv_titles.BARE_NAME
        if alone and self.first and not self.last:
            self.names, self.last = [], self.names
        elif alone and self.last and not self.first:
            self.names, self.first = [], self.names

    def __bool__(self) -> bool:
        return bool(self.names or self.first or self.last or self.ids)

    def look_at(self, rows: Sequence[CsvRow]) -> None:
        """Note whether most names of *rows* begin with the last name."""
        joined = [", ".join(row.cells) if self.width == 1 else "" for row in rows]
        names = [name for row, whole in zip(rows, joined, strict=True) if (name := whole or first_of(row, self.names))]
        turned = sum(_turned(name) != name for name in names)
        self.last_first = self.canvas or 2 * turned > len(names)

    def is_person(self, row: CsvRow) -> bool:
        """Whether *row* is about a person: other systems write rows about columns, too."""
        name, known = self.row_title(row), first_of(row, self.ids)
        if self.canvas and (name in csv_titles.TEST_STUDENT or self._is_test(row)):
            return False
        if self.canvas and not known:
            return False
        if self.first and self.last and all(first_of(row, one) for one in (self.first, self.last)):
            return True
        return bool(known) or bool(name) and name not in csv_titles.SUMMARY

    def row_title(self, row: CsvRow) -> str:
        """What *row* has in place of a name, in small letters."""
        cells = [first_of(row, some) for some in (self.names, self.first, self.last)]
        return csv_titles.plain_head(next((cell for cell in cells if cell), ""))

    def _is_test(self, row: CsvRow) -> bool:
        return any(_TEST_LOGIN.fullmatch(row.cells[place]) for place in self.ids if place < len(row.cells))

    def name(self, row: CsvRow) -> str:
        """The name of the person of *row*, the first name first."""
        cells = (first_of(row, some) for some in (self.names, self.first, self.last))
        whole, first, last = (unicodedata.normalize("NFC", " ".join(one.split())) for one in cells)
        if whole:
            return _turned(whole) if self.last_first else whole
        if _HAN.fullmatch(first) and _HAN.fullmatch(last):
            return last + first
        return f"{first} {last}".strip()

    def group(self, row: CsvRow) -> str | None:
        """The group of the person in *row*; empty without a group, None without such a column."""
        said = first_of(row, self.groups)
        none = said.casefold() in csv_titles.NO_GROUP
        return ("" if none else said) if self.groups else None

    def outside_id(self, row: CsvRow) -> str:
        """The first id that *row* has.

        Raises:
            InputError: it is not valid, or a spreadsheet has shortened it.
        """
        found = clean_id(in_ascii_digits(first_of(row, self.ids)))
        if _SHORTENED.fullmatch(found):
            raise InputError(
                translate(
                    "the id is {id!r}, which a spreadsheet has shortened: format the column of ids "
                    "as text, and save the file again",
                    id=found,
                )
            )
        return re.sub(r"(?<=\d)\.0+$", "", found) if found[:1].isdigit() else found


def find_head(rows: Sequence[CsvRow]) -> int | None:
    """Where in *rows* the titles are; None without titles. Lines about a course may precede them.

    The titles of a file are in its first row, or in one that names two things about people.
    """
    for place, row in enumerate(rows[:_TITLED]):
        head = Head(row.cells)
        if head and (not place or sum(map(bool, head.known)) >= _CLEAR):
            return place
    return None


def fitting_row(row: CsvRow, head: Head) -> CsvRow:
    """*row*, with a name that a comma has cut in two as one, where there is only the name.

    Raises:
        InputError: it has more cells than the head, so they may be of other columns.
    """
    if not any(row.cells[head.width :]):
        return row
    if head.width == 1 and head.names:
        return replace(row, cells=(", ".join(filter(None, row.cells)),))
    raise InputError(
        translate(
            "{count} cells under {width} titles: put a name with a comma in quotation marks",
            count=len(row.cells),
            width=head.width,
        )
    )


def _turned(name: str) -> str:
    """*name* with what follows its one comma first, unless that is a title or a suffix.

    >>> _turned("Lovelace, Ada"), _turned("King, Martin L., Jr."), _turned("Ada, PhD")
    ('Ada Lovelace', 'Martin L. King, Jr.', 'Ada, PhD')
    """
    last, *others = re.split(r"(?:(?<!\s)\s++)?+[,，]\s*+", name)
    suffixes = [one for one in others if _SUFFIX.fullmatch(one)]
    first = [one for one in others if one and one not in suffixes]
    if len(first) != 1 or not last:
        return name
    return ", ".join([f"{first[0]} {last}", *suffixes])


def clean_id(text: str) -> str:
    """*text* as an id of a person in other systems; it may be empty.

    Raises:
        InputError: it is too long or unprintable.
    """
    found = unicodedata.normalize("NFC", text.strip().removeprefix("#"))
    if len(found) > SUBJECT_LIMIT or not found.isprintable():
        raise InputError(
            translate("an id has at most {subject_limit} printable characters", subject_limit=SUBJECT_LIMIT)
        )
    return found


def first_of(row: CsvRow, places: Iterable[int]) -> str:
    """The first cell of *row* that is filled, of those at *places*."""
    cells = (row.cells[place] for place in places if place < len(row.cells))
    return next((cell for cell in cells if cell), "")
