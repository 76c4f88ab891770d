"""Rosters as CSV files: our own and those of four systems by their titles, any other by columns that a person names.

A cell that a spreadsheet would run gets an apostrophe, which is taken off when it is read.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain

from app.classes.people.classes import Member, Role
from app.classes.people.csv_text import CsvRow, csv_text, read_csv
from app.classes.people.persons import clean_id, clean_name
from app.classes.people.policy import read_factor
from app.core.errors import InputError, input_error, nearest
from app.core.translation import noted, translate

SYSTEMS = "Canvas, Moodle, Blackboard, Open edX"
_SHOWN = 5  # problems that are reported
_SHORTENED = re.compile(r"\d([.,]\d+)?E\+?\d+", re.IGNORECASE)
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
_NO_GROUP = "no groups"  # as Moodle calls it
_TEST_LOGIN = re.compile(r"[0-9a-f]{40}|\A.*_previewuser", re.IGNORECASE)  # of Canvas's and Blackboard's test students
_ROLES = {
    "learner": "student",
    "ta": "assistant",
    "teaching assistant": "assistant",
    "non-editing teacher": "assistant",
    "instructor": "teacher",
}
# What a column can be, by the word that a person says.
COLUMN_WORDS: Mapping[str, str] = {
    "id": noted("Id in other systems"),
    "name": noted("Name, as in Ada Lovelace"),
    "last-first": noted("Name, as in Lovelace, Ada"),
    "first": noted("First name"),
    "last": noted("Last name"),
    "group": noted("Group"),
    "role": noted("Role"),
    "time": noted("Factor of the time in exams, such as 1.5"),
}
_NAMES = ("name", "last-first", "first", "last")


class UnknownTitlesError(InputError):
    """A roster whose titles do not say which column is what: a person has to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
    """A person on a roster, and the *line* of it; without a *role*, a new one is a student.

    With a *number*, it is the member who has it. An empty *group* is none; None leaves it as it is, and the factor
    of the *time* in exams, too.
    """

    line: int
    name: str
    outside_id: str = ""
    role: Role | None = None
    number: int | None = None
    group: str | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterFormat:
    """How a system titles what is used of its files; a file is of it if it has one of each of *signs*.

    Of several *titles* of a word, the first holds that has a cell below it. If a *person* has a cell, rows without an
    id and without it are about columns; the *login* tells test students. *several* joins the names of groups: always,
    or if one of them is a group of its own.
    """

    system: str
    signs: tuple[tuple[str, ...], ...]
    titles: Mapping[str, tuple[str, ...]]
    person: str = ""
    login: str = ""
    several: str = ""
    always: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterLayout:
    """Which column of a file is what: the *places* of its words, below *titles*."""

    titles: tuple[str, ...]
    places: Mapping[str, int]
    format: RosterFormat | None = None
    person: int | None = None
    login: int | None = None

    def title(self, word: str) -> str:
        """What the column of a *word* is called."""
        place = self.places.get(word, 0)
        return (self.titles[place] if place < len(self.titles) else "") or str(place + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRoster:
    """What a file of people says: who is on it, and what of it is not used, in sentences."""

    entries: tuple[RosterEntry, ...]
    left_out: tuple[str, ...]
    layout: RosterLayout

    @property
    def unused(self) -> tuple[str, ...]:
        """The titles of the columns that are not read."""
        read = self.layout.places.values()
        return tuple(one for place, one in enumerate(self.layout.titles) if one and place not in read)


# By titles without spaces and signs. Canvas: lib/gradebook_exporter.rb, and the file of its groups. Moodle: the text
# export of its gradebook, the table of participants, and its grading worksheets. Blackboard: Download Grades.
# Open edX: the grade report and the profiles of learners, whose ids are numbers of their own.
_FORMATS = (
    RosterFormat(
        system="Canvas",
        signs=(("sisloginid",), ("student", "lastname")),
        titles={
            "id": ("sisuserid", "id"),
            "last-first": ("student",),
            "first": ("firstname",),
            "last": ("lastname",),
            "group": ("section",),
        },
        person="id",
        login="sisloginid",
        several=", and | and |, ",
    ),
    RosterFormat(
        system="Canvas",
        signs=(("canvasuserid",), ("name",)),
        titles={"id": ("userid", "canvasuserid"), "name": ("name",), "group": ("groupname",)},
    ),
    RosterFormat(
        system="Blackboard",
        signs=(("firstname",), ("lastname",), ("username",), ("studentid",)),
        titles={"id": ("studentid", "username"), "first": ("firstname",), "last": ("lastname",)},
        login="username",
    ),
    RosterFormat(
        system="Moodle",
        signs=(("firstname", "fullname"), ("lastname", "surname", "fullname"), ("idnumber", "emailaddress", "groups")),
        titles={
            "id": ("idnumber", "username"),
            "name": ("fullname",),
            "first": ("firstname",),
            "last": ("lastname", "surname"),
            "group": ("groups", "group"),
        },
        several=", ",
        always=True,
    ),
    RosterFormat(
        system="Open edX",
        signs=(
            ("username",),
            ("enrollmenttrack", "certificateeligible", "enrollmentmode", "verificationstatus", "yearofbirth"),
        ),
        titles={"id": ("username",), "name": ("name",), "group": ("cohortname", "cohort")},
    ),
)
_OWN = RosterFormat(
    system="Wallclock",
    signs=(),
    titles={
        "id": ("id",),
        "name": ("name",),
        "first": ("firstname",),
        "last": ("lastname",),
        "group": ("group", "groups", "section"),
        "role": ("role",),
        "time": ("timefactor",),
    },
)
_OWN_TITLES = frozenset(chain.from_iterable(_OWN.titles.values()))
_OWN_CORES = (("id", "name"), ("id", "first name", "last name"))  # beside these, ours may have others


def write_roster(members: Iterable[Member]) -> str:
    """The roster of a class, as `read_roster` reads it; with groups and factors of the time, if there are any."""
    everyone = list(members)
    columns: list[tuple[str, Callable[[Member], str]]] = [
        ("id", lambda one: one.outside_id),
        ("name", lambda one: one.name),
        ("role", lambda one: one.role.word),
    ]
    if any(one.group for one in everyone):
        columns.append(("group", lambda one: one.group))
    if any(one.time_factor != 1.0 for one in everyone):
        columns.append(("time factor", lambda one: f"{one.time_factor:g}"))
    return csv_text([[title for title, _ in columns], *([text(one) for _, text in columns] for one in everyone)])


def title_key(cell: str) -> str:
    """The letters and digits of a title: the same for First_Name, FirstName and first name."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", cell).casefold())


def foreign_format(titles: Sequence[str]) -> RosterFormat | None:
    """The format of the other system whose file has *titles*; None if none is known."""
    keys = {title_key(cell) for cell in titles}
    return next((one for one in _FORMATS if all(keys.intersection(sign) for sign in one.signs)), None)


def read_roster(content: bytes | str, columns: Sequence[str] = (), first_line: int = 0) -> ReadRoster:
    """Everyone on a roster: a CSV file with known titles, one whose *columns* are named, or names, one per line.

    A column is named as in id:2 or id:Matr.-Nr., by its number or title. Persons begin on *first_line*; at 0, the first
    line has the titles.

    Raises:
        UnknownTitlesError: nothing says which column is what.
        InputError: it is not a roster, or nobody on it can be read; the message names up to five lines.
    """
    layout, above, rows = _laid_out(read_csv(content).rows, columns, first_line)
    left_out = [_no_person(row) for row in above]
    found: list[RosterEntry] = []
    problems: list[str] = []
    for row in rows:
        if not _is_person(row, layout):
            left_out.append(_no_person(row))
            continue
        try:
            found.append(_entry(row, layout))
        except InputError as error:
            problems.append(str(error))
    if not found:
        refuse_lines(problems)
        raise input_error("this roster has no lines below its head; nobody is on it")
    entries, several = _in_one_group(found, layout.format)
    return ReadRoster(entries=tuple(entries), left_out=(*left_out, *problems, *several), layout=layout)


def refuse_lines(problems: Sequence[str]) -> None:
    """Refuse a file for its *problems*, of which the first few are named.

    Raises:
        InputError: there are some.
    """
    if problems:
        more = len(problems) - _SHOWN
        rest = [translate("and {more:,} more", more=more)] if more > 0 else []
        raise InputError("; ".join([*problems[:_SHOWN], *rest]))


def _laid_out(
    rows: Sequence[CsvRow], columns: Sequence[str], first_line: int
) -> tuple[RosterLayout, Sequence[CsvRow], Sequence[CsvRow]]:
    """Which column is what, the rows above the titles, and those below them."""
    below = [row for row in rows if row.number >= first_line] if first_line else rows[1:]
    above = rows[: len(rows) - len(below)]
    titles = above[-1].cells if above else ()
    if columns:
        width = max(len(row.cells) for row in rows)
        return RosterLayout(titles=titles, places=_chosen_places(columns, titles, width)), above[:-1], below
    if form := _format_of(titles):
        return _known_layout(form, titles, below), above[:-1], below
    names = below if first_line else rows
    if 2 * sum(len(row.cells) == 1 for row in names) > len(names):
        return RosterLayout(titles=(), places={"name": 0}), rows[: len(rows) - len(names)], names
    raise UnknownTitlesError(
        translate(
            "line {line}: {titles} are not the titles of {systems} or Wallclock; say which column is what, by title or "
            "number (--column of the command, column= of the API), such as id:1 and name:2",
            line=above[-1].number if above else first_line,
            titles=", ".join(map(repr, (titles or rows[0].cells)[:_SHOWN]))[:120],
            systems=SYSTEMS,
        )
    )


def _format_of(titles: Sequence[str]) -> RosterFormat | None:
    """The format of a file with *titles*; ours may have further columns if its titles are as we write them."""
    if found := foreign_format(titles):
        return found
    keys = {title_key(cell) for cell in titles}
    own = keys <= _OWN_TITLES and not keys.isdisjoint(("id", "name", "firstname"))
    return _OWN if own or any(set(core) <= set(titles) for core in _OWN_CORES) else None


def _known_layout(form: RosterFormat, titles: tuple[str, ...], rows: Sequence[CsvRow]) -> RosterLayout:
    keys = [title_key(cell) for cell in titles]
    places = {}
    for word, known in form.titles.items():
        there = [keys.index(key) for key in known if key in keys]
        if there:
            places[word] = next((place for place in there if any(row.cell(place) for row in rows)), there[0])
    return RosterLayout(
        titles=titles,
        places=places,
        format=form,
        person=keys.index(form.person) if form.person in keys else None,
        login=keys.index(form.login) if form.login in keys else None,
    )


def _chosen_places(columns: Sequence[str], titles: Sequence[str], width: int) -> dict[str, int]:
    """The places of *columns* such as id:2 or id:Matr.-Nr."""
    places: dict[str, int] = {}
    for one in columns:
        word, _, which = one.partition(":")
        if word not in COLUMN_WORDS or not which or word in places:
            raise input_error(
                "column {one!r}: each is one of {words}, once, a colon, and a title or a number, such as id:1{near}",
                one=one[:60],
                words=", ".join(COLUMN_WORDS),
                near=nearest(word, COLUMN_WORDS) if word not in COLUMN_WORDS else "",
            )
        places[word] = _place_called(which.strip(), titles, width)
    if places.keys().isdisjoint(("id", *_NAMES)):
        raise input_error("say which column has the names, such as name:2, or the ids, such as id:1")
    return places


def _place_called(which: str, titles: Sequence[str], width: int) -> int:
    """The place of the column with a number, from 1, or with a title."""
    if which.isascii() and which.isdecimal() and 1 <= int(which[:9]) <= width:
        return int(which) - 1
    same = [place for place, cell in enumerate(titles) if cell.casefold() == which.casefold()]
    if len(same) != 1:
        raise input_error(
            "this file has {count} columns called {which!r}; its columns have the numbers 1 to {width}{near}",
            count=len(same),
            which=which[:60],
            width=width,
            near="" if same else nearest(which, titles),
        )
    return same[0]


def _is_person(row: CsvRow, layout: RosterLayout) -> bool:
    """Whether *row* is about a person: other systems write rows about columns, and test students, too."""
    known = row.cell(layout.places.get("id"))
    if layout.person is not None and (not (known or row.cell(layout.person)) or _name(row, layout) == "Test Student"):
        return False
    if _TEST_LOGIN.fullmatch(row.cell(layout.login)):
        return False
    return bool(known) or any(row.cell(layout.places.get(word)) for word in _NAMES)


def _no_person(row: CsvRow) -> str:
    says = next((cell for cell in row.cells if cell), "")[:40]
    return translate("line {line}: {says!r} is not a person", line=row.number, says=says)


def _entry(row: CsvRow, layout: RosterLayout) -> RosterEntry:
    """The person of *row*."""
    row = _fitting_row(row, layout)
    with _in_column(row, layout, "id"):
        outside_id = read_id(row.cell(layout.places.get("id")))
    with _in_column(row, layout, next((word for word in _NAMES if word in layout.places), "id")):
        name = clean_name(_name(row, layout) or outside_id)
    with _in_column(row, layout, "role"):
        role = row.cell(layout.places.get("role")).casefold()
        found = Role.read(_ROLES.get(role, role)) if role else None
    with _in_column(row, layout, "group"):
        group = row.cell(layout.places.get("group"))
        group = clean_name(group) if group and group.casefold() != _NO_GROUP else ""
    with _in_column(row, layout, "time"):
        time = read_factor(row.cell(layout.places.get("time"))) if "time" in layout.places else None
    return RosterEntry(
        line=row.number,
        name=name,
        outside_id=outside_id,
        role=found,
        group=group if "group" in layout.places else None,
        time=time,
    )


@contextmanager
def _in_column(row: CsvRow, layout: RosterLayout, word: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise input_error(
            "line {line}, column {title}: {error}", line=row.number, title=layout.title(word)[:40], error=error
        ) from None


def _fitting_row(row: CsvRow, layout: RosterLayout) -> CsvRow:
    """*row*, with a name that a comma has cut in two as one, where there is only the name."""
    width = len(layout.titles)
    if width <= 1 and layout.places == {"name": 0}:
        return replace(row, cells=(", ".join(filter(None, row.cells)),))
    if not width or not any(row.cells[width:]):
        return row
    raise input_error(
        "line {line}: {count} cells under {width} titles: put a cell with a separator in quotation marks",
        line=row.number,
        count=len(row.cells),
        width=width,
    )


def _name(row: CsvRow, layout: RosterLayout) -> str:
    """The name of the person of *row*, the first name first."""
    whole, turned, first, last = (
        unicodedata.normalize("NFC", " ".join(row.cell(layout.places.get(word)).split())) for word in _NAMES
    )
    if whole or turned:
        return whole or _turned(turned)
    if _HAN.fullmatch(first) and _HAN.fullmatch(last):
        return last + first
    return f"{first} {last}".strip()


def _turned(name: str) -> str:
    """*name* with what follows its first comma first.

    >>> _turned("Lovelace, Ada"), _turned("King, Martin L., Jr."), _turned("Plato")
    ('Ada Lovelace', 'Martin L. King, Jr.', 'Plato')
    """
    last, *others = (part.strip() for part in re.split(r"[,，]", name))
    return ", ".join([f"{others[0]} {last}".strip(), *others[1:]]) if others else name


def read_id(cell: str) -> str:
    """The id in a *cell* of a file; it may be empty.

    Raises:
        InputError: it is not valid, or a spreadsheet has shortened it.
    """
    found = clean_id(cell)
    if _SHORTENED.fullmatch(found):
        raise input_error(
            "the id is {id!r}, which a spreadsheet has shortened: format the column of ids as text, and save the "
            "file again",
            id=found,
        )
    return re.sub(r"(?<=\d)\.0+$", "", found) if found[:1].isdigit() else found


def _in_one_group(
    entries: Sequence[RosterEntry], form: RosterFormat | None
) -> tuple[Sequence[RosterEntry], Sequence[str]]:
    """*entries*, where those who are in several groups keep theirs; and who that is.

    Moodle writes "Monday, Tuesday", and Canvas "Monday and Tuesday", which may be the name of one section.
    """
    if form is None or not form.several:
        return entries, ()
    alone = {one.group for one in entries}
    found, says = [], []
    for one in entries:
        parts = re.split(form.several, one.group or "")
        if len(parts) > 1 and (form.always or not alone.isdisjoint(parts)):
            says.append(
                translate(
                    "line {line}: {name} is in several groups ({groups}), so their group is left as it is",
                    line=one.line,
                    name=one.name,
                    groups=one.group,
                )
            )
            one = replace(one, group=None)
        found.append(one)
    return found, says
