"""Shards of a large file of answers: each is graded on a machine of its own, then all are merged.

The last line of a graded shard is a seal that says which lines of which file it has, so that a
merge can prove that no line is missing, and none is there twice.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from app.core.errors import InputError
from app.core.line_reader import Numbered, short_lines

_BLOCK = 1 << 20  # bytes read at once


@dataclass(frozen=True, slots=True)
class FileShard:
    """Number *number* of *of* shards of a file, counted from 1."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> "FileShard":
        """The shard that *text* names, such as 3/8.

        Raises:
            InputError: it names none.
        """
        number, _, of = text.partition("/")
        if not (number.isascii() and number.isdigit() and of.isascii() and of.isdigit()):
            raise InputError(f"--shard must be I/N, such as 3/8, not {text[:40]!r}")
        if not 1 <= int(number) <= int(of):
            raise InputError(f"shards are counted from 1: --shard 1/{of} to {of}/{of}, not {text[:40]}")
        return cls(int(number), int(of))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """The bytes of a file from *begin* to *end*, which are the *lines* from number *first* on."""

    begin: int
    end: int
    first: int
    lines: int
    input: str  # SHA-256 of the whole file


class Counts(BaseModel):
    """The tally of a shard."""

    model_config = ConfigDict(extra="forbid", strict=True)

    correct: int = Field(ge=0)
    incorrect: int = Field(ge=0)
    unreadable: int = Field(ge=0)
    errors: int = Field(ge=0)
    expected: int = Field(ge=0)
    unsaid: int = Field(ge=0)
    disagreeing: int = Field(ge=0)
    disagreements: list[int] = Field(description="the first ones, by line")


class Seal(BaseModel):
    """The last line of a graded shard."""

    model_config = ConfigDict(extra="forbid", strict=True)

    shard: int = Field(ge=1)
    of: int = Field(ge=1)
    input: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the whole input")
    first: int = Field(ge=1, description="number of its first line in the input")
    lines: int = Field(ge=0)
    rows: int = Field(ge=0, description="as many as lines that are not blank")
    digest: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the rows")
    tally: Counts

    @property
    def name(self) -> str:
        """As it is given to `--shard`."""
        return f"{self.shard}/{self.of}"


def span_of(source: BinaryIO, shard: FileShard) -> ByteSpan:
    """The lines of *source* that belong to *shard*; each belongs to one."""
    size = source.seek(0, 2)
    begin, end = (_boundary(source, size * number // shard.of) for number in (shard.number - 1, shard.number))
    digest, position, before, inside, last = hashlib.sha256(), 0, 0, 0, b"\n"
    source.seek(0)
    while block := source.read(_BLOCK):
        digest.update(block)
        before += block.count(b"\n", 0, max(0, begin - position))
        inside += block.count(b"\n", max(0, begin - position), max(0, end - position))
        if position < end <= position + len(block):
            last = block[end - position - 1 : end - position]
        position += len(block)
    lines = inside + (end > begin and last != b"\n")
    return ByteSpan(begin, end, before + 1, lines, digest.hexdigest())


def shard_lines(source: BinaryIO, span: ByteSpan, limit: int) -> Iterator[Numbered]:
    """The numbered lines of *span*; None in place of one of more than *limit* bytes."""
    source.seek(span.begin)
    yield from enumerate(islice(short_lines(source, limit), span.lines), span.first)


def _boundary(source: BinaryIO, place: int) -> int:
    """The start of the first line that begins at *place* or later."""
    if place == 0:
        return 0
    source.seek(place - 1)
    while True:
        piece = source.readline(_BLOCK)
        if not piece or piece.endswith(b"\n"):
            return source.tell()
