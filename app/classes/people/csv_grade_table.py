"""The columns of points in a file of grades: which they are, and what each line has in them."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from app.classes.people.csv_heads import Head, first_of
from app.classes.people.csv_points import PointsTitle, decimal_sign, is_blank, maximum_of, plain_points, points_columns
from app.classes.people.csv_text import CsvRow
from app.classes.people.csv_titles import POSSIBLE, plain_head
from app.core.errors import InputError, nearest
from app.core.translation import translate

_MOST_PROBED = 200_000  # cells that tell what precedes the decimals
_LEAST_DECIMALS = 2  # at which points are compared: nobody means 9 by 9.33


@dataclass(frozen=True, slots=True)
class GradeLine:
    """A line of a file of grades; an empty cell is not among the *points*."""

    line: int
    number: int | None
    outside_id: str
    name: str
    points: Mapping[str, float]


class GradeTable:
    """The columns of points of a file, and how their cells are written."""

    def __init__(self, cells: Sequence[str], rows: Sequence[CsvRow], head: Head, known: Collection[str]) -> None:
        self._cells, self._head = cells, head
        self._titles = [PointsTitle.read(cell) for cell in cells]
        columns = [[_cell(row, place) for row in rows] for place in range(len(cells))]
        self.columns = points_columns(self._titles, known, columns)
        self._require_columns(known)
        others = (place for place in range(len(cells)) if place not in self.columns)
        probed = (place for place in (*self.columns, *others) if place not in head.places)
        numbers = (cell for place in probed for cell in columns[place] if cell)
        self._sign = decimal_sign(islice(numbers, _MOST_PROBED))
        self.decimals = dict.fromkeys(self.columns.values(), _LEAST_DECIMALS)
        self.most = self._maxima(rows)

    def _require_columns(self, known: Collection[str]) -> None:
        names = list(self.columns.values())
        if name := next((one for one in names if names.count(one) > 1), None):
            raise InputError(translate("two columns are called {name!r}", name=name[:60]))
        if names:
            return
        own = {name.casefold() for name in known}
        for cell, title in zip(self._cells, self._titles, strict=True):
            if title.other_scale and own & title.names.keys():
                raise InputError(
                    translate("the column {name!r} has percent, letters or comments: export the points", name=cell[:60])
                )
        heads = [list(title.names)[-1] for place, title in enumerate(self._titles) if place not in self._head.places]
        near = next((says for name in heads if (says := nearest(name, known))), "")
        raise InputError(translate("no column is an assignment or exercise of this class{near}", near=near))

    def _maxima(self, rows: Sequence[CsvRow]) -> dict[str, float]:
        """The most points of each column, as its title, a row or a column beside it has them."""
        most = {
            name: found
            for place, name in self.columns.items()
            if (found := self._titles[place].names.get(plain_head(name))) is not None
        }
        for row in rows:
            if not self._head.is_person(row) and self._head.row_title(row) in POSSIBLE:
                for place, name in self.columns.items():
                    if number := plain_points(_cell(row, place), self._sign):
                        most[name] = float(number)
        titles = {title: name for p, name in self.columns.items() for title in self._titles[p].names}
        for place, cell in enumerate(self._cells):
            first = next((text for row in rows if (text := _cell(row, place))), "")
            number = plain_points(first, self._sign)
            if number and (of := titles.get(maximum_of(cell))):
                most[of] = float(number)
        return most

    def unread(self) -> tuple[str, ...]:
        """The columns that say neither whose points these are nor points."""
        return tuple(
            cell
            for place, cell in enumerate(self._cells)
            if cell and place not in self._head.places and place not in self.columns
        )

    def line(self, row: CsvRow, left_out: list[str]) -> GradeLine:
        """The points of a line; what is not a number is *left_out*, with the reason."""
        head, points = self._head, {}
        number = first_of(row, head.numbers)
        if number and not number.isdecimal():
            raise InputError(translate("number is {text!r}, and a whole number is expected", text=number[:40]))
        for place, name in self.columns.items():
            if is_blank(cell := _cell(row, place)):
                continue
            if not (text := plain_points(cell, self._sign)):
                left_out.append(_unread_cell(row, name, cell))
                continue
            points[name] = float(text) + 0.0  # no minus before 0
            decimals = len(text.partition(".")[2]) if points[name] % 1 else 0
            self.decimals[name] = max(self.decimals[name], decimals)
        return GradeLine(row.number, int(number[:18]) if number else None, head.outside_id(row), head.name(row), points)


def _cell(row: CsvRow, place: int) -> str:
    return row.cells[place] if place < len(row.cells) else ""


def _unread_cell(row: CsvRow, name: str, cell: str) -> str:
    if re.fullmatch(r"\d{1,3}(,\d{3})+", cell):
        return translate(
            "line {line}: {name} is {cell!r}, with thousands or with decimals: write it without a comma",
            line=row.number,
            name=name[:60],
            cell=cell[:40],
        )
    return translate(
        "line {line}: {name} is {cell!r}; points are a number such as 7.5, or empty",
        line=row.number,
        name=name[:60],
        cell=cell[:40],
    )
