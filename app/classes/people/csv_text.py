"""CSV as text: Unicode or Windows-1252 in, and cells that no spreadsheet runs out."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.core.errors import input_error

FILE_LIMIT = 8 << 20  # bytes
MOST_LINES = 10_000  # besides the head
_COLUMNS = 2_000
_HEAD = 2_000  # bytes that tell UTF-16
_SEPARATORS = ";\t,"  # of equal ones, the first: a comma may be in a name
_PROBED, _MOST_PROBED = 40, 100_000  # lines and characters that tell the separator
# Signs that a text in Windows-1252 has besides letters; others are letters of another encoding.
_WESTERN = frozenset("’‘“”„–—…ªº°€§«»·×\xa0\xad")
_FOREIGN = re.compile(rb"[\x80-\xff]{3}")  # words of western Europe have no three in a row
_MARKUP = re.compile(r"\A\s*+(?:<[!?a-zA-Z]|[\[{]\s*[\"{\]}])")
# What shows nothing, and comes with what is copied from a page: marks of direction and breaks.
_INVISIBLE = dict.fromkeys(
    map(ord, "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad")
)
_AS_TEXT = re.compile(r'="([^"]*)"')  # how programs keep the zeros of an id in Excel
# A formula begins a cell, or what a program that expects another separator takes for one.
_FORMULA = "('*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
_BEGINS = r'((?:^|[,;\t\r\n])[ "]*)'
_BLANK = "('*[\t\r])"  # before a formula, some programs skip it
_UNSAFE = re.compile(_BEGINS + _FORMULA), re.compile(r'^([ "]*)' + _BLANK)
_GUARDED = re.compile(f"{_BEGINS}'{_FORMULA}"), re.compile(f"^([ \"]*)'{_BLANK}")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """The cells of a row, and the line of the file on which it ends."""

    number: int
    cells: tuple[str, ...]

    def cell(self, place: int | None) -> str:
        """The cell at *place*; empty where there is none."""
        return self.cells[place] if place is not None and place < len(self.cells) else ""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """The rows of a file that are not blank, with what guards a cell taken off."""

    separator: str
    rows: tuple[CsvRow, ...]


def decode_csv(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 or Windows-1252.

    Raises:
        InputError: it is too large, or in another encoding.
    """
    _require_size(len(content))
    first, second = content[:_HEAD:2], content[1:_HEAD:2]
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    for order, zeros, others in (("utf-16-le", second, first), ("utf-16-be", first, second)):
        if 2 * zeros.count(0) > len(zeros) and not others.count(0):  # of Latin letters, half of the bytes
            return content.decode(order, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")  # Windows-1252, if it is like a text of western Europe
        signs = {sign for sign in text if not sign.isascii() and not sign.isalpha()}
        if signs <= _WESTERN and not _FOREIGN.search(content) and ("\n" in text or "\r" not in text):
            return text
        raise input_error(
            "this file is not in UTF-8, UTF-16 or Windows-1252: save it as CSV UTF-8, as Excel calls it"
        ) from None


def _require_size(size: int) -> None:
    if size > FILE_LIMIT:
        limit = FILE_LIMIT >> 20
        raise input_error("this file is larger than {file_limit} MiB, the limit", file_limit=limit)


def guard_cell(text: str) -> str:
    """*text* as a cell that no spreadsheet takes for a formula: an apostrophe comes first.

    Source:
        OWASP, CSV Injection.

    >>> guard_cell("=HYPERLINK(1)"), guard_cell("Ada"), guard_cell("'=1")
    ("'=HYPERLINK(1)", 'Ada', "''=1")
    """
    for unsafe in _UNSAFE:
        text = unsafe.sub(r"\1'\2", text)
    return text


def unguard_cell(cell: str) -> str:
    """The text that `guard_cell` was given.

    >>> unguard_cell("'=HYPERLINK(1)"), unguard_cell("'tis"), unguard_cell("''=1")
    ('=HYPERLINK(1)', "'tis", "'=1")
    """
    for found in reversed(_GUARDED):
        cell = found.sub(r"\1\2", cell)
    return cell


def csv_text(rows: Iterable[Sequence[str]], separator: str = ",") -> str:
    """*rows* as CSV (RFC 4180), each cell guarded."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows([guard_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def read_csv(content: bytes | str) -> CsvFile:
    """The rows of a CSV file, separated by commas, semicolons or tabs.

    Raises:
        InputError: it is empty, too large, binary, or not CSV; the message names the line.
    """
    text = content if isinstance(content, str) else decode_csv(content)
    _require_size(len(text))
    if "\0" in text:
        raise input_error("this is not a text file; save the table as CSV")
    if _MARKUP.match(text):
        raise input_error("this is HTML, XML or JSON, not a table; save the table as CSV")
    text, separator = _separated(text.removeprefix("\ufeff"))
    rows = tuple(_csv_rows(text, separator))
    if not rows:
        raise input_error("this file is empty")
    return CsvFile(separator, rows)


def _separated(text: str) -> tuple[str, str]:
    """*text* with a blank line for one such as `sep=;`, and its separator."""
    if first := re.match(r'\A[\r\n]*+"?sep=([,;\t])"?(?=[\r\n])', text, re.IGNORECASE):
        return text[first.end() :], first[1]
    lines = re.sub(r'"[^"]*"', "", text[:_MOST_PROBED]).splitlines()[:_PROBED]
    return text, max(_SEPARATORS, key=lambda sign: _agreement(sign, lines))


def _agreement(sign: str, lines: Sequence[str]) -> tuple[int, int]:
    """How many of *lines* have one and the same number of a separator, and which number."""
    counts = Counter(count for line in lines if (count := line.count(sign)))
    return max(((often, count) for count, often in counts.items()), default=(0, 0))


def _csv_rows(text: str, separator: str) -> Iterator[CsvRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    count = 0
    try:
        for row in reader:
            if len(row) > _COLUMNS:
                raise input_error("line {line}: more than {columns:,} columns", line=reader.line_num, columns=_COLUMNS)
            cells = tuple(map(_plain_cell, row))
            if any(cells):
                count += 1
                if count > MOST_LINES + 1:
                    most = f"{MOST_LINES:,}"
                    raise input_error("this file has more than {most} lines, the limit", most=most)
                yield CsvRow(reader.line_num, cells)
    except csv.Error as error:
        raise input_error("line {line}: this is not CSV ({error})", line=reader.line_num, error=error) from None


def _plain_cell(cell: str) -> str:
    """What a cell says, without what a spreadsheet or a page has added."""
    cell = (cell if cell.isascii() else cell.translate(_INVISIBLE)).strip()
    as_text = _AS_TEXT.fullmatch(cell)
    if as_text:
        return as_text[1].strip()
    return unguard_cell(cell) if "'" in cell else cell
