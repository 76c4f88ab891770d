"""Shards of a large file of answers: each is graded on a machine of its own, then all are merged."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.core.errors import InputError
from app.core.line_reader import Numbered, short_lines
from app.site.grading.offline import VerdictTally

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


_SEAL_LIMIT = 64 << 10  # bytes
_NAMED = 5  # missing shards that are named


def seal_shard(
    pieces: Iterable[list[bytes]], shard: FileShard, span: ByteSpan, tally: VerdictTally
) -> Iterator[list[bytes]]:
    """The rows of *pieces*, and after them the seal of their *shard*."""
    digest, count = hashlib.sha256(), 0
    for rows in pieces:
        digest.update(b"".join(rows))
        count += len(rows)
        yield rows
    seal = Seal(
        shard=shard.number,
        of=shard.of,
        input=span.input,
        first=span.first,
        lines=span.lines,
        rows=count,
        digest=digest.hexdigest(),
        tally=Counts(**asdict(tally)),
    )
    yield [seal.model_dump_json().encode() + b"\n"]


def merge_shards(names: Sequence[str], tally: VerdictTally) -> Iterator[bytes]:
    """The rows of the shards in the files *names*, in the order of the lines.

    Raises:
        InputError: a shard is missing, incomplete, there twice, changed, or of another input.
    """
    seals = [(seal_of(Path(name)), name) for name in names]
    _refuse_gaps(seals)
    for seal, name in sorted(seals, key=lambda pair: pair[0].shard):
        tally.add(VerdictTally(**seal.tally.model_dump()))
        yield from _rows(seal, name)


def seal_of(file: Path) -> Seal:
    """The last line of *file*.

    Raises:
        InputError: it is not a seal: the file is not a shard, or not complete.
    """
    try:
        with file.open("rb") as shard:
            size = shard.seek(0, 2)
            shard.seek(max(0, size - _SEAL_LIMIT))
            lines = shard.read().splitlines()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    try:
        return Seal.model_validate_json(lines[-1] if lines else b"")
    except ValidationError as error:
        raise InputError(
            f"{file} is not a complete shard: its last line is not the seal that "
            "`wallclock grade --shard` writes; grade this shard again"
        ) from error


def _refuse_gaps(seals: Sequence[tuple[Seal, str]]) -> None:
    """Raise an `InputError` unless *seals* are of every shard of one file, each once."""
    first, its_name = seals[0]
    places: dict[int, str] = {}
    for seal, name in seals:
        if (seal.input, seal.of) != (first.input, first.of):
            raise InputError(f"{its_name} and {name} are not shards of the same file and count")
        if seal.shard in places:
            raise InputError(f"{places[seal.shard]} and {name} are both the shard {seal.name}")
        places[seal.shard] = name
    _refuse_missing(places, first.of)
    following = 1
    for seal, name in sorted(seals, key=lambda pair: pair[0].shard):
        if seal.first != following:
            raise InputError(f"{name} begins at line {seal.first} instead of {following}")
        following += seal.lines


def _refuse_missing(places: Collection[int], of: int) -> None:
    if missing := [number for number in range(1, of + 1) if number not in places]:
        named = ", ".join(f"{number}/{of}" for number in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise InputError(f"the shard {named}{more} is missing")


def _rows(seal: Seal, name: str) -> Iterator[bytes]:
    digest, rows = hashlib.sha256(), 0
    with Path(name).open("rb") as file:
        for row in file:
            if rows == seal.rows:
                break
            digest.update(row)
            rows += 1
            yield row
    if digest.hexdigest() != seal.digest:
        raise InputError(f"{name} was changed after it was graded: grade {seal.name} again")
