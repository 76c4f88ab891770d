"""The lines of a file of answers, none of which is longer than what is read."""

from collections.abc import Iterator
from typing import BinaryIO

Numbered = tuple[int, bytes | None]  # a line of a file, None if it is too long; its number from 1
_PIECE = 1 << 16  # bytes of a line that is too long, read at a time


def short_lines(source: BinaryIO, limit: int) -> Iterator[bytes | None]:
    """The lines of *source* without their ends; None for one of more than *limit* bytes."""
    while line := source.readline(limit + 1):
        yield short_line(line, source, limit)


def short_line(line: bytes, source: BinaryIO, limit: int) -> bytes | None:
    """A *line* that was read from *source*, perhaps in part, without its end; None if it is longer.

    Then *source* is read to the end of the line, but never all of it is in memory.
    """
    while not line.endswith(b"\n") and len(line) > limit:
        more = source.readline(_PIECE)
        if not more or more.endswith(b"\n"):
            return None
    line = line.removesuffix(b"\n")
    return line if len(line) <= limit else None
