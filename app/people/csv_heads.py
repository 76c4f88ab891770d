"""Which column of a CSV file says what about a person."""

from collections.abc import Iterable, Sequence

from app.db.people import SUBJECT_LIMIT
from app.errors import InputError
from app.people.csv_text import CsvRow
from app.translation import translate

_NAME = ("name", "full name", "student", "student name", "vollständiger name")
_FIRST = ("first name", "firstname", "given name", "vorname", "prénom", "nombre")
_LAST = ("last name", "lastname", "surname", "family name", "nachname", "nom", "apellido(s)")
# Of several, the first that is filled holds: in Canvas's files, ID is a number of Canvas.
_ID = (
    "sis user id", "id number", "student id", "student number", "outside id", "outside_id",
    "matriculation number", "matrikelnummer", "id-nummer", "numéro d'identification",
    "número de id", "id", "sis login id", "username", "email address", "email", "e-mail",
)  # fmt: skip
_ROLE = ("role", "roles", "rolle", "rôle", "rol")
_NUMBER = ("number",)
_OTHERS = (
    "section", "institution", "department", "total", "course total",
    "last downloaded from this course", "groups", "root account",
)  # fmt: skip


class Head:
    """Which column says what about a person."""

    def __init__(self, cells: Sequence[str]) -> None:
        names = [" ".join(cell.casefold().split()) for cell in cells]

        def places(known: Sequence[str]) -> list[int]:
            return [names.index(name) for name in known if name in names]

        self.names = places(_NAME)
        self.first, self.last = places(_FIRST), places(_LAST)
        self.ids, self.roles, self.numbers = places(_ID), places(_ROLE), places(_NUMBER)
        named = (self.names, self.first, self.last, self.ids, self.roles, self.numbers)
        self.places = {place for some in (*named, places(_OTHERS)) for place in some}
        self.canvas = "student" in names and "sis user id" in names

    def __bool__(self) -> bool:
        return bool(self.names or self.first or self.last or self.ids)

    def name(self, row: CsvRow) -> str:
        """The name of the person of *row*; Canvas writes the last name first."""
        if whole := first_of(row, self.names):
            last, comma, first = whole.partition(", ")
            return f"{first} {last}" if comma and self.canvas else whole
        return f"{first_of(row, self.first)} {first_of(row, self.last)}".strip()

    def outside_id(self, row: CsvRow) -> str:
        """The first id that *row* has."""
        return clean_id(first_of(row, self.ids))


def clean_id(text: str) -> str:
    """*text* as an id of a person in other systems; it may be empty.

    Raises:
        InputError: it is too long or unprintable.
    """
    found = text.strip()
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
