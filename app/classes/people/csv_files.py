"""Rosters as CSV files: as Wallclock and other systems write them.

A cell that a spreadsheet would run gets an apostrophe, which is taken off when it is read.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from app.classes.people.classes import Member, Role
from app.classes.people.csv_heads import Head, find_head, first_of, fitting_row
from app.classes.people.csv_text import CsvRow, csv_rows, csv_text
from app.classes.people.csv_titles import ROLES
from app.classes.people.persons import clean_name
from app.core.errors import InputError
from app.core.translation import noted, translate

MOST_LINES = 10_000
_SHOWN = 5  # problems that are reported
_SEVERAL = re.compile(r", | and | und ")

SAMPLE = noted("name the columns in the first line, such as id,name or name alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterEntry:
    """A person on a roster, and the *line* of it; without a *role*, a new one is a student.

    With a *number*, it is the member who has it. An empty *group* is none; None leaves it as it is.
    """

    line: int
    name: str
    outside_id: str = ""
    role: Role | None = None
    number: int | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRoster:
    """What a file of people says: who is on it, and what of it is not used, in sentences."""

    entries: tuple[RosterEntry, ...]
    unused: tuple[str, ...]
    left_out: tuple[str, ...]


def write_roster(members: Iterable[Member]) -> str:
    """The roster of a class, as `read_roster` reads it; with groups, if there are any."""
    everyone = list(members)
    width = 4 if any(one.group for one in everyone) else 3
    rows = ((one.outside_id, one.name, one.role.word, one.group) for one in everyone)
    return csv_text(row[:width] for row in chain([("id", "name", "role", "group")], rows))


def read_roster(content: bytes | str) -> ReadRoster:
    """Everyone on a roster: a CSV file in any usual encoding, an export of another system, or
    names pasted one per line.

    Raises:
        InputError: it is not a roster, or nobody on it can be read; the message names up to five
            lines.
    """
    head, before, rows = _head(limited(csv_rows(content)))
    head.look_at(rows)
    problems = [_no_person(row) for row in before]
    found, others = [], len(before)
    for row in rows:
        if not head.is_person(row):
            others += 1
            problems.append(_no_person(row))
            continue
        try:
            found.append(_listed(fitting_row(row, head), head))
        except InputError as error:
            problems.append(translate("line {line}: {error}", line=row.number, error=error))
    if not found and len(problems) > others:
        refuse_lines(problems)
    if not found:
        raise InputError(translate("this roster has no lines below its head; nobody is on it"))
    entries, several = _in_one_group(found)
    return ReadRoster(entries=tuple(entries), unused=head.unused, left_out=(*problems, *several))


def _in_one_group(entries: Sequence[RosterEntry]) -> tuple[Sequence[RosterEntry], Sequence[str]]:
    """*entries*, where those who are in several groups keep theirs; and who that is.

    Moodle writes "Monday, Tuesday", and Canvas "Monday and Tuesday".
    """
    known = {one.group for one in entries}
    found, says = [], []
    for one in entries:
        parts = _SEVERAL.split(one.group or "")
        if len(parts) > 1 and known.issuperset(parts):
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


def _no_person(row: CsvRow) -> str:
    says = next((cell for cell in row.cells if cell), "")[:40]
    return translate("line {line}: {says!r} is not a person", line=row.number, says=says)


def limited(lines: Iterable[CsvRow]) -> Iterator[CsvRow]:
    """*lines*, as long as a file may have that many.

    Raises:
        InputError: there are more.
    """
    for count, line in enumerate(lines):
        if count > MOST_LINES:  # besides the head
            most = f"{MOST_LINES:,}"
            raise InputError(translate("this file has more than {most} lines, the limit", most=most))
        yield line


def _head(lines: Iterator[CsvRow]) -> tuple[Head, Sequence[CsvRow], Sequence[CsvRow]]:
    """The head of a roster, the rows before it and below it; without a head, where the columns
    are not in doubt.
    """
    rows = list(lines)
    if not rows:
        raise InputError(translate("this roster is empty"))
    if (at := find_head(rows)) is not None:
        return Head(rows[at].cells), rows[:at], rows[at + 1 :]
    if titles := _titles_in_doubt(rows):
        return Head(titles), (), rows
    raise InputError(
        translate(
            "line {count}: found {cells!r}; {sample}",
            count=rows[0].number,
            cells=", ".join(rows[0].cells)[:80],
            sample=translate(SAMPLE),
        )
    )


def _titles_in_doubt(rows: Sequence[CsvRow]) -> Sequence[str]:
    """The titles of a roster without a head; none where the columns are in doubt."""
    width = max(len(row.cells) for row in rows)
    if width == 1:
        return ["name"]
    numeric = [
        place
        for place in range(width)
        if all(len(row.cells) == width and re.search(r"\d", row.cells[place]) for row in rows)
    ]
    if width != 2:  # noqa: PLR2004
        return []
    if len(numeric) == 1:
        return ["id", "name"] if numeric == [0] else ["name", "id"]
    return ["last name", "first name"] if all(row.spaced for row in rows) else []


def _listed(row: CsvRow, head: Head) -> RosterEntry:
    role, group = first_of(row, head.roles).casefold(), head.group(row)
    return RosterEntry(
        line=row.number,
        name=clean_name(head.name(row) or head.outside_id(row)),
        outside_id=head.outside_id(row),
        role=Role.read(ROLES.get(role, role)) if role else None,
        group=None if group is None else clean_name(group) if group else "",
    )


def refuse_lines(problems: Sequence[str]) -> None:
    """Refuse a file for its *problems*, of which the first few are named.

    Raises:
        InputError: there are some.
    """
    if problems:
        more = len(problems) - _SHOWN
        rest = [translate("and {more:,} more", more=more)] if more > 0 else []
        raise InputError("; ".join([*problems[:_SHOWN], *rest]))
