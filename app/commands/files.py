"""The files of a command: lines from a file or standard input, and a file that is never half."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.errors import InputError

STANDARD = "-"
_PIECE = 1 << 16  # bytes of a line that is too long, read at a time


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
    count = sum(1 for line in short_lines(source, _PIECE) if line is None or line.strip())
    source.seek(0)
    return count


def short_lines(source: BinaryIO, limit: int) -> Iterator[bytes | None]:
    """The lines of *source* without their ends; None for one of more than *limit* bytes."""
    while line := source.readline(limit + 1):
        if line.endswith(b"\n") or len(line) <= limit:
            yield line.removesuffix(b"\n")
            continue
        yield None  # and never all of it in memory
        while line and not line.endswith(b"\n"):
            line = source.readline(_PIECE)
