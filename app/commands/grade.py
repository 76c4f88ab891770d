"""`wallclock grade`: grade a file of answers offline."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NoReturn

from app.commands.files import add_output, line_count, output, source_of
from app.core.errors import InputError
from app.course.content.catalog import Catalog
from app.course.content.course import read_course
from app.server.config import Settings
from app.site.grading.offline import VerdictTally, gradable_lines
from app.site.grading.parallel import grade_on


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock grade`."""
    from app.site.grading.kits import FORMATS

    parser.add_argument("file", metavar="FILE.jsonl", help="one JSON object per line; -: standard input")
    parser.add_argument("--processes", type=_positive, metavar="P", help="default: one per core")
    parser.add_argument("--sheet", metavar="SHEET.yaml", help="questions and points; FILE answers them by name")
    parser.add_argument("--format", choices=FORMATS, help="write the results of this grader instead of lines")
    add_output(parser, "OUT.jsonl")


def run(arguments: Namespace) -> int:
    """Grade each line in order; 1 if a line cannot be graded or has an unexpected verdict."""
    settings = Settings()
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    processes = arguments.processes or cores
    catalog, tally = read_course(settings), VerdictTally()
    if arguments.sheet or arguments.format:
        return _grade_kit(arguments, catalog, settings)
    with source_of(arguments.file) as source, output(arguments.output) as target:
        total = line_count(source, arguments.file)
        lines = enumerate(gradable_lines(source, catalog, settings.body_limit), 1)
        _write(grade_on(processes, lines, catalog, settings, tally), target, total)
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1


def _grade_kit(arguments: Namespace, catalog: Catalog, settings: Settings) -> int:
    """Grade a sheet, or lines for another grader; its file is written whatever a student has sent."""
    from app.site.grading import kits

    sheet, tally = kits.QuestionSheet.read(Path(arguments.sheet), catalog) if arguments.sheet else None, VerdictTally()

    def graded(lines: Iterable[bytes | None]) -> Iterator[bytes]:
        pieces = grade_on(arguments.processes or 1, enumerate(lines, 1), catalog, settings, tally)
        return chain.from_iterable(pieces)

    with output(arguments.output) as target:
        if sheet is None:
            with source_of(arguments.file) as source:
                questions = list(kits.graded_lines(graded(gradable_lines(source, catalog, settings.body_limit))))
        else:
            try:
                with source_of(arguments.file) as source:
                    answers = source.read(kits.ANSWERS_LIMIT + 1)
                lines = list(kits.sheet_lines(sheet, answers, Path(arguments.file).name))
            except InputError as error:
                if not arguments.format:
                    raise
                questions = kits.refused_sheet(sheet, error)
            else:
                rows = list(graded(lines))
                if not arguments.format:
                    target.writelines(rows)
                    sys.stderr.write(f"{tally}\n")
                    return 0 if tally.is_clean else 1
                questions = list(kits.graded_sheet(sheet, rows))
        target.write(json.dumps(kits.FORMATS[arguments.format](questions), indent=1).encode() + b"\n")
    sys.stderr.write(f"{sum(one.points for one in questions):g} of {sum(one.of for one in questions):g} points\n")
    return 0


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _write(pieces: Iterable[list[bytes]], target: BinaryIO, total: int | None) -> None:
    """Write the rows of *pieces*, with a progress bar on a terminal."""
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would make it unsafe to fork
    bar: tqdm[NoReturn]
    with tqdm(total=total, unit=" answers", disable=None, leave=False) as bar:
        for rows in pieces:
            target.writelines(rows)
            bar.update(len(rows))
