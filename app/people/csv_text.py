"""CSV as text: any encoding and separator in, and cells that no spreadsheet runs out."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.errors import InputError
from app.translation import translate

FILE_LIMIT = 8 << 20  # bytes
_BOM = "\ufeff"
_SEPARATORS = ",;\t"
_COLUMNS = 2_000
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
        raise InputError(
            translate(
                "this file is larger than {file_limit} MiB, the limit", file_limit=FILE_LIMIT >> 20
            )
        )
    if "\0" in text:
        raise InputError(translate("this is not a text file; save the table as CSV"))
    text, separator = _separated(text.removeprefix(_BOM))
    yield from _rows(text, separator)


def decode_csv(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 or, as older programs write, Windows-1252.

    Raises:
        InputError: it is too large.
    """
    if len(content) > FILE_LIMIT:
        raise InputError(
            translate(
                "this file is larger than {file_limit} MiB, the limit", file_limit=FILE_LIMIT >> 20
            )
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", "replace")
    if b"\0" in content[:200] and len(content) % 2 == 0:
        # Half of the bytes of European text in UTF-16 are 0: the high ones.
        order = "utf-16-be" if content[:1] == b"\0" else "utf-16-le"
        return content.decode(order, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252")
    except UnicodeDecodeError:  # it leaves five bytes undefined
        return content.decode("latin-1")


def _separated(text: str) -> tuple[str, str]:
    """*text* without a line such as `sep=;`, and its separator."""
    lines = text.lstrip("\r\n").splitlines()
    first = lines[0] if lines else ""
    if re.fullmatch(r"sep=[,;\t]", first):
        return text.lstrip("\r\n")[len(first) :], first[-1]
    outside = re.sub(r'"[^"]*"', "", first)
    return text, max(_SEPARATORS, key=outside.count)


def _rows(text: str, separator: str) -> Iterator[CsvRow]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if len(row) > _COLUMNS:
                raise InputError(
                    translate(
                        "line {line_num}: more than {columns:,} columns",
                        line_num=reader.line_num,
                        columns=_COLUMNS,
                    )
                )
            cells = tuple(unguarded(cell.strip()) for cell in row)
            if any(cells):
                yield CsvRow(reader.line_num, cells)
    except csv.Error as error:
        raise InputError(
            translate(
                "line {line_num}: this is not CSV ({error})", line_num=reader.line_num, error=error
            )
        ) from None
