"""The files of a command: lines from a file or standard input, and a file that is never half."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.core.errors import InputError
from app.core.line_reader import short_lines

STANDARD = "-"
_LONGEST = 1 << 16  # bytes of a line that is looked at


@contextmanager
def source_of(name: str) -> Iterator[BinaryIO]:
    """The file *name*, or standard input."""
    if name == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        with Path(name).open("rb") as file:
            yield file
    except BrokenPipeError:  # of the output
        raise
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error


@contextmanager
def output(name: str) -> Iterator[BinaryIO]:
    """The file *name*, which appears only when it is complete."""
    if name == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = Path(f"{name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(name)
    except OSError as error:
        raise InputError(f"{name} cannot be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def line_count(source: BinaryIO, name: str) -> int | None:
    """The lines of *source* that are not blank, if it can be rewound; it then is."""
    if name == STANDARD or not source.seekable():
        return None
    count = sum(1 for line in short_lines(source, _LONGEST) if line is None or line.strip())
    source.seek(0)
    return count
