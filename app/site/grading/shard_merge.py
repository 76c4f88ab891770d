"""Graded shards, each with a seal as its last line, merged into one file."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic import ValidationError

from app.core.errors import InputError
from app.site.grading.offline import VerdictTally
from app.site.grading.shards import ByteSpan, Counts, FileShard, Seal

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
