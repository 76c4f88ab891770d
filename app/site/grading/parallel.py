"""Grade a file on all cores, or in shards on several machines."""

import asyncio
import gc
import hashlib
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app.core.errors import InputError, UnavailableError
from app.core.line_reader import Numbered, short_lines
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.server.config import Settings
from app.site.grading.offline import FileGrader, VerdictTally

_LINES, _BYTES = 400, 1 << 20  # of a piece, whichever comes first
_FEW = 2_000  # lines that are graded sooner than processes start
_AHEAD = 4  # pieces for each process that may wait for an earlier one
_TRIES = 3  # processes that may die of the same piece
_LOOK = 0.5  # seconds
_FORK = multiprocessing.get_context("fork").Process
_SPAWN = multiprocessing.get_context("spawn").Process


@dataclass(slots=True)
class _Piece:
    """Some lines, and once they are graded their rows."""

    lines: list[Numbered]
    rows: list[bytes] | None = None
    tries: int = 0


@dataclass(slots=True)
class _Worker:
    """A process, and the piece that it has."""

    process: BaseProcess
    pipe: Connection
    piece: _Piece | None = None


@dataclass(slots=True)
class _Crew:
    """The processes; those that die are replaced."""

    settings: Settings
    catalog: Catalog
    tally: VerdictTally
    workers: list[_Worker] = field(default_factory=list)

    def hire(self) -> _Worker:
        """A new process."""
        # A fork has the catalog already; with other threads it would not be safe.
        is_safe = sys.platform == "linux" and threading.active_count() == 1
        start: Callable[..., BaseProcess] = _FORK if is_safe else _SPAWN
        ours, theirs = multiprocessing.Pipe()
        catalog = self.catalog if is_safe else None
        process = start(target=_work, args=(theirs, self.settings, catalog), daemon=False)
        process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self.workers.append(worker)
        return worker

    def give(self, worker: _Worker, piece: _Piece) -> None:
        """Have *worker* grade *piece*; if it is dead, `collect` notices."""
        worker.piece = piece
        try:
            worker.pipe.send(piece.lines)
        except OSError:
            return

    def collect(self) -> None:
        """Wait for a process to grade its piece, or to die."""
        busy = {worker.pipe: worker for worker in self.workers if worker.piece}
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            try:
                rows, tally = worker.pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if worker.piece:
                worker.piece.rows = rows
            self.tally.add(tally)
            worker.piece = None

    def close(self) -> None:
        """End every process."""
        for worker in self.workers:
            if worker.piece:
                worker.process.kill()
            with suppress(OSError):
                worker.pipe.send(None)  # a closed pipe would not end it: later forks have it, too
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()

    def _replace(self, dead: _Worker) -> None:
        self.workers.remove(dead)
        dead.pipe.close()
        dead.process.join()
        piece = dead.piece
        if piece is None:
            return
        piece.tries += 1
        if piece.tries == _TRIES:
            first, last = piece.lines[0][0], piece.lines[-1][0]
            raise UnavailableError(
                f"{_TRIES} processes died while they graded lines {first} to {last}; if the system "
                "killed them for their memory, use fewer with --processes"
            )
        self.give(self.hire(), piece)


def grade_on(
    processes: int, lines: Iterable[Numbered], catalog: Catalog, settings: Settings, tally: VerdictTally
) -> Iterator[list[bytes]]:
    """One line of JSON per numbered line that is not blank, graded by *processes*, in order.

    Few lines are graded in this process. A process that dies costs the time of its piece, which
    another one grades again.

    Raises:
        UnavailableError: processes die again and again of the same lines.
    """
    lines = iter(lines)
    first = list(islice(lines, _FEW))
    if processes == 1 or len(first) < _FEW:
        yield from _here(chain([first], _pieces(lines)), catalog, settings, tally)
        return
    slots = settings.sandbox_workers or 2 * (os.cpu_count() or 1)
    each = settings.model_copy(update={"sandbox_workers": math.ceil(slots / processes)})
    gc.freeze()  # or each process would copy the catalog's pages, by visiting them
    with closing(_Crew(each, catalog, tally)) as crew:
        for _ in range(processes):
            crew.hire()
        yield from _shared(crew, _pieces(chain(first, lines)))


def _here(
    pieces: Iterable[list[Numbered]], catalog: Catalog, settings: Settings, tally: VerdictTally
) -> Iterator[list[bytes]]:
    grader = FileGrader(catalog, settings)
    with asyncio.Runner() as runner:
        try:
            for lines in pieces:
                yield runner.run(_graded_rows(grader, lines, tally))
        finally:
            runner.run(grader.close())


def _shared(crew: _Crew, pieces: Iterator[list[Numbered]]) -> Iterator[list[bytes]]:
    """The rows of *pieces* in their order; few of them are in memory."""
    waiting: deque[_Piece] = deque()
    most, rest = _AHEAD * len(crew.workers), True
    while rest or waiting:
        for worker in crew.workers:
            if worker.piece is None and len(waiting) < most and (lines := next(pieces, None)):
                waiting.append(piece := _Piece(lines))
                crew.give(worker, piece)
            elif worker.piece is None and len(waiting) < most:
                rest = False
        if any(worker.piece for worker in crew.workers):
            crew.collect()
        while waiting and waiting[0].rows is not None:
            yield waiting.popleft().rows or []


def _pieces(lines: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    piece: list[Numbered] = []
    size = 0
    for numbered in lines:
        piece.append(numbered)
        size += len(numbered[1] or b"")
        if len(piece) == _LINES or size >= _BYTES:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


async def _graded_rows(grader: FileGrader, lines: Iterable[Numbered], tally: VerdictTally) -> list[bytes]:
    return [row async for row in grader.grade(lines, tally)]


def _work(pipe: Connection, settings: Settings, catalog: Catalog | None) -> None:
    """Grade pieces until there are no more, or the process that sends them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process ends this one
    threading.Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    grader = FileGrader(catalog or read_course(settings), settings)
    with asyncio.Runner() as runner:
        try:
            while lines := pipe.recv():
                tally = VerdictTally()
                pipe.send((runner.run(_graded_rows(grader, lines, tally)), tally))
        finally:
            runner.run(grader.close())


def _follow(parent: int) -> None:
    """End this process when *parent* has died: no one waits for its rows."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


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
    tally: VerdictTally

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
        tally=tally,
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
        tally.add(seal.tally)
        yield from _shards_rows(seal, name)


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


def _shards_rows(seal: Seal, name: str) -> Iterator[bytes]:
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
