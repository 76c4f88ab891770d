"""`wallclock grade`: grade a file of answers offline."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn

from tqdm import tqdm

from app.config import Settings
from app.content.catalog import Catalog
from app.content.packs import exercise_folders
from app.errors import InputError
from app.grading.offline import Tally, grade

_STANDARD = "-"


def run(arguments: Namespace) -> int:
    """Grade each line in order; 1 if a line cannot be graded or has an unexpected verdict."""
    settings = Settings()
    catalog = Catalog.read(exercise_folders(settings))
    with _input(arguments.file) as source, output(arguments.output) as target:
        total = _count(source) if arguments.file != _STANDARD and source.seekable() else None
        bar: tqdm[NoReturn]
        with tqdm(total=total, unit=" answers", disable=None, leave=False) as bar:
            tally = asyncio.run(_grade(source, target, catalog, settings, bar))
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1


def _count(source: BinaryIO) -> int:
    """The number of answers in *source*, which is rewound."""
    count = sum(1 for line in source if line.strip())
    source.seek(0)
    return count


async def _grade(
    source: BinaryIO, target: BinaryIO, catalog: Catalog, settings: Settings, bar: "tqdm[NoReturn]"
) -> Tally:
    tally = Tally()
    async for line in grade(source, catalog, settings, tally):
        target.write(line)
        bar.update()
    return tally


@contextmanager
def _input(name: str) -> Iterator[BinaryIO]:
    if name == _STANDARD:
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
    if name == _STANDARD:
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
