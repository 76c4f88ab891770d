"""CSV as text: any encoding and separator in, and cells that no spreadsheet runs out."""

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.classes.people.csv_encoding import FILE_LIMIT, csv_too_large, decode_csv
from app.core.errors import InputError
from app.core.translation import translate

_BOM = "\ufeff"
_SEPARATORS = "\t;|,"  # of equal ones, the first: a comma may be in a name
_PROBED, _MOST_PROBED = 40, 100_000  # lines and characters that tell the separator
_MARKUP = re.compile(r"\A\s*+(?:<[!?a-zA-Z]|[\[{]\s*[\"{\]}])")
# What shows nothing, and comes with what is copied from a page: marks of direction and breaks.
_INVISIBLE = dict.fromkeys(
    map(ord, "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad")
)
_QUOTED_ROW = re.compile(r'"[^"]*[;\t][^"]*"')
_AS_TEXT = re.compile(r'="([^"]*)"')  # how programs keep the zeros of an id in Excel
_COLUMNS = 2_000
# A formula begins a cell, or what a program that expects another separator takes for one.
_FORMULA = "('*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
_BEGINS = r'((?:^|[,;\t\r\n])[ "]*)'
_BLANK = "('*[\t\r])"  # before a formula, some programs skip it
_UNSAFE = re.compile(_BEGINS + _FORMULA), re.compile(r'^([ "]*)' + _BLANK)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}"), re.compile(f"^([ \"]*)'{_BLANK}")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """The cells of a row, and the line of the file on which it ends.

    *spaced*: a space precedes each cell but the first, as in "Lovelace, Ada".
    """

    number: int
    cells: tuple[str, ...]
    spaced: bool = False


def guarded(text: str) -> str:
    """*text* as a cell that no spreadsheet takes for a formula: an apostrophe comes first.

    Source:
        OWASP, CSV Injection.

    >>> guarded("=HYPERLINK(1)"), guarded("Ada"), guarded("'=1")
    ("'=HYPERLINK(1)", 'Ada', "''=1")
    """
    for unsafe in _UNSAFE:
        text = unsafe.sub(r"\1'\2", text)
    return text


def unguarded(cell: str) -> str:
    """The text that `guarded` was given.

    >>> unguarded("'=HYPERLINK(1)"), unguarded("'tis"), unguarded("''=1")
    ('=HYPERLINK(1)', "'tis", "'=1")
    """
    for found in reversed(_GUARDED):
        cell = found.sub(r"\1\2", cell)
    return cell


def csv_text(rows: Iterable[Sequence[str]], separator: str = ",") -> str:
    """*rows* as CSV (RFC 4180), each cell guarded."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows([guarded(cell) for cell in row] for row in rows)
    return text.getvalue()


def csv_rows(content: bytes | str) -> Iterator[CsvRow]:
    """The rows of a CSV file that are not blank, with what guards a cell taken off.

    Raises:
        InputError: it is empty, too large, binary, or not CSV; the message names the line.
    """
    text = content if isinstance(content, str) else decode_csv(content)
    if len(text) > FILE_LIMIT:
        raise csv_too_large()
    if "\0" in text:
        raise InputError(translate("this is not a text file; save the table as CSV"))
    if _MARKUP.match(text):
        raise InputError(translate("this is HTML, XML or JSON, not a table; save the table as CSV"))
    text, separator = _separated(text.removeprefix(_BOM))
    yield from _rows(text, separator)


def _separated(text: str) -> tuple[str, str]:
    """*text* without a line such as `sep=;`, and its separator."""
    text = text.lstrip("\r\n")
    first = re.match(r'"?sep=([,;|\t])"?(?=[\r\n])', text, re.IGNORECASE)
    if first:
        return text[first.end() :], first[1]
    lines = text[:_MOST_PROBED].splitlines()[:_PROBED]
    if lines and all(map(_QUOTED_ROW.fullmatch, lines)):  # a program took the row for a cell
        text = re.sub(r'(?m)^"|"(?=\r?$)', "", text)
        lines = text[:_MOST_PROBED].splitlines()[:_PROBED]
    lines = [re.sub(r'"[^"]*"', "", line) for line in lines]
    return text, max(_SEPARATORS, key=lambda sign: _agreement(sign, lines))


def _agreement(sign: str, lines: Sequence[str]) -> tuple[int, int]:
    """How many of *lines* have one and the same number of a separator, and which number."""
    counts = Counter(count for line in lines if (count := line.count(sign)))
    return max(((often, count) for count, often in counts.items()), default=(0, 0))


def _rows(text: str, separator: str) -> Iterator[CsvRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if len(row) > _COLUMNS:
                raise InputError(
                    translate(
                        "line {line_num}: more than {columns:,} columns", line_num=reader.line_num, columns=_COLUMNS
                    )
                )
            cells = tuple(map(_plain_cell, row))
            if any(cells):
                spaced = len(row) > 1 and all(cell[:1] == " " for cell in row[1:])
                yield CsvRow(reader.line_num, cells, spaced)
    except csv.Error as error:
        raise InputError(
            translate("line {line_num}: this is not CSV ({error})", line_num=reader.line_num, error=error)
        ) from None


def _plain_cell(cell: str) -> str:
    """What a cell says, without what a spreadsheet or a page has added."""
    cell = (cell if cell.isascii() else cell.translate(_INVISIBLE)).strip()
    kept = _AS_TEXT.fullmatch(cell)
    if kept:
        return kept[1].strip()
    return unguarded(cell) if "'" in cell else cell


def in_ascii_digits(text: str) -> str:
    """*text* with digits of every script as 0 to 9."""
    if text.isascii():
        return text
    return "".join(sign if (digit := unicodedata.decimal(sign, None)) is None else str(digit) for sign in text)
