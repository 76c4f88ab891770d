"""Which column of a CSV file says what about a person."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from app.db.people import SUBJECT_LIMIT
from app.errors import InputError
from app.people.csv_text import CsvRow
from app.translation import translate

_NAME = (
    "name", "full name", "student", "student name", "vollständiger name", "nom complet",
    "nombre completo", "姓名",
)  # fmt: skip
_FIRST = ("first name", "firstname", "given name", "vorname", "prénom", "nombre")
_LAST = ("last name", "lastname", "surname", "family name", "nachname", "nom", "apellido(s)")
# Of several, the first that is filled holds: in Canvas's files, ID is a number of Canvas.
_ID = (
    "sis user id", "orgdefinedid", "id number", "idnumber", "student id", "student-id",
    "student_id", "student number", "studentnumber", "outside id", "outside_id",
    "matriculation number", "matrikelnummer", "matrikelnr", "matrikel-nr", "matr.-nr", "matr.nr",
    "matrnr", "mtknr", "mtk-nr", "id-nummer", "numéro d'identification", "numéro étudiant",
    "n° étudiant", "número de id", "número de estudiante", "matricola", "studentnummer", "学号",
    "学籍番号", "id", "sis login id", "username", "login", "anmeldename",
)  # fmt: skip
_GROUP = (
    "group", "section", "groups", "gruppe", "gruppen", "sektion", "groupe", "groupes", "grupo",
    "grupos", "sección", "gruppo", "组", "班级",
)  # fmt: skip
# What Moodle writes for those who are in none.
_NO_GROUP = ("no groups", "keine gruppen", "aucun groupe", "no hay grupos", "nessun gruppo")
_ROLE = ("role", "roles", "rolle", "rôle", "rol")
_NUMBER = ("number",)
_OTHERS = (
    "institution", "department", "total", "course total", "overall %",
    "last downloaded from this course", "root account",
)  # fmt: skip
# What stands in place of a name in rows that are not about a person.
_OF_CANVAS = {"points possible", "manual posting", "student, test", "test student"}
_OF_GOOGLE = {"date", "points", "class average", "datum", "punkte", "punktzahl"}
_SHORTENED = re.compile(r"\d([.,]\d+)?E\+?\d+", re.IGNORECASE)


class Head:
    """Which column says what about a person."""

    def __init__(self, cells: Sequence[str]) -> None:
        names = [plain_head(cell) for cell in cells]

        def places(known: Sequence[str]) -> list[int]:
            return [names.index(name) for name in known if name in names]

        self.names = places(_NAME)
        self.first, self.last = places(_FIRST), places(_LAST)
        self.ids, self.roles, self.numbers = places(_ID), places(_ROLE), places(_NUMBER)
        self.groups = places(_GROUP)
        named = (
            self.names, self.first, self.last, self.ids, self.roles, self.numbers, self.groups,
        )  # fmt: skip
        self.places = {place for some in (*named, places(_OTHERS)) for place in some}
        self.canvas = "student" in names and "id" in names
        self.unused = tuple(
            cell for place, cell in enumerate(cells) if cell and place not in self.places
        )

    def __bool__(self) -> bool:
        return bool(self.names or self.first or self.last or self.ids)

    def is_person(self, row: CsvRow) -> bool:
        """Whether *row* is about a person: Canvas and Google Classroom write further rows."""
        cells = [first_of(row, some) for some in (self.names, self.first, self.last, self.ids)]
        said = [cell.strip().casefold() for cell in cells if cell]
        if self.canvas:
            return bool(said) and said[0] not in _OF_CANVAS
        google = bool(self.first and self.last) and len(said) == 1 and said[0] in _OF_GOOGLE
        return bool(said) and not google

    def name(self, row: CsvRow) -> str:
        """The name of the person of *row*; Canvas writes the last name first."""
        if whole := first_of(row, self.names):
            last, comma, first = whole.partition(", ")
            return f"{first} {last}" if comma and self.canvas else whole
        return f"{first_of(row, self.first)} {first_of(row, self.last)}".strip()

    def group(self, row: CsvRow) -> str | None:
        """The group of the person in *row*; empty without a group, None without such a column."""
        said = first_of(row, self.groups)
        return ("" if said.casefold() in _NO_GROUP else said) if self.groups else None

    def outside_id(self, row: CsvRow) -> str:
        """The first id that *row* has.

        Raises:
            InputError: it is not valid, or a spreadsheet has shortened it.
        """
        found = clean_id(first_of(row, self.ids))
        if _SHORTENED.fullmatch(found):
            raise InputError(
                translate(
                    "the id is {id!r}, which a spreadsheet has shortened: format the column of ids "
                    "as text, and save the file again",
                    id=found,
                )
            )
        return found


def plain_head(cell: str) -> str:
    """The title of a column without what differs between files.

    >>> plain_head(" Matr.-Nr. "), plain_head("SIS  User ID")
    ('matr.-nr', 'sis user id')
    """
    return " ".join(unicodedata.normalize("NFC", cell).casefold().split()).rstrip(".:*")


def clean_id(text: str) -> str:
    """*text* as an id of a person in other systems; it may be empty.

    Raises:
        InputError: it is too long or unprintable.
    """
    found = unicodedata.normalize("NFC", text.strip().removeprefix("#"))
    if len(found) > SUBJECT_LIMIT or not found.isprintable():
        raise InputError(
            translate(
                "an id has at most {subject_limit} printable characters",
                subject_limit=SUBJECT_LIMIT,
            )
        )
    return found


def first_of(row: CsvRow, places: Iterable[int]) -> str:
    """The first cell of *row* that is filled, of those at *places*."""
    cells = (row.cells[place] for place in places if place < len(row.cells))
    return next((cell for cell in cells if cell), "")
