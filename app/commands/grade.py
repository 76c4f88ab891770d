"""`wallclock grade`: grade a file of answers offline."""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import BinaryIO, NoReturn

from tqdm import tqdm

from app.commands.files import STANDARD, add_output, line_count, output, source_of
from app.core.errors import InputError
from app.course.content.course import read_course
from app.server.config import Settings
from app.site.grading.offline import VerdictTally, gradable_lines
from app.site.grading.parallel import FileShard, grade_on, seal_shard, shard_lines, span_of

tqdm.monitor_interval = 0  # its thread would make it unsafe to fork


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock grade`."""
    parser.add_argument("file", metavar="FILE.jsonl", help="one JSON object per line; -: standard input")
    parser.add_argument("--shard", metavar="I/N", help="only the shard I of N, counted from 1, such as 3/8")
    parser.add_argument("--processes", type=_positive, metavar="P", help="default: one per core")
    add_output(parser, "OUT.jsonl")


def run(arguments: Namespace) -> int:
    """Grade each line in order; 1 if a line cannot be graded or has an unexpected verdict."""
    settings = Settings()
    processes = arguments.processes or _cores()
    shard = FileShard.read(arguments.shard) if arguments.shard else None
    if shard and arguments.file == STANDARD:
        raise InputError("--shard needs a file; standard input cannot be read from the middle")
    catalog, tally = read_course(settings), VerdictTally()
    with source_of(arguments.file) as source, output(arguments.output) as target:
        if shard:
            span = span_of(source, shard)
            lines = shard_lines(source, span, settings.body_limit)
            graded = grade_on(processes, lines, catalog, settings, tally)
            _write(seal_shard(graded, shard, span, tally), target, span.lines)
        else:
            total = line_count(source, arguments.file)
            lines = enumerate(gradable_lines(source, catalog, settings.body_limit), 1)
            _write(grade_on(processes, lines, catalog, settings, tally), target, total)
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _cores() -> int:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _write(pieces: Iterable[list[bytes]], target: BinaryIO, total: int | None) -> None:
    """Write the rows of *pieces*, with a progress bar on a terminal."""
    bar: tqdm[NoReturn]
    with tqdm(total=total, unit=" answers", disable=None, leave=False) as bar:
        for rows in pieces:
            target.writelines(rows)
            bar.update(len(rows))
