"""`wallclock grade`: grade a file of answers offline."""

import asyncio
import sys
from argparse import Namespace
from typing import BinaryIO, NoReturn

from tqdm import tqdm

from app.commands.files import count_of, output, source_of
from app.config import Settings
from app.content.catalog import Catalog
from app.content.course import read_course
from app.grading.exports import gradable_lines
from app.grading.offline import Tally, grade


def run(arguments: Namespace) -> int:
    """Grade each line in order; 1 if a line cannot be graded or has an unexpected verdict."""
    settings = Settings()
    catalog = read_course(settings)
    with source_of(arguments.file) as source, output(arguments.output) as target:
        total = count_of(source, arguments.file)
        bar: tqdm[NoReturn]
        with tqdm(total=total, unit=" answers", disable=None, leave=False) as bar:
            tally = asyncio.run(_grade(source, target, catalog, settings, bar))
    sys.stderr.write(f"{tally}\n")
    return 0 if tally.is_clean else 1


async def _grade(
    source: BinaryIO, target: BinaryIO, catalog: Catalog, settings: Settings, bar: "tqdm[NoReturn]"
) -> Tally:
    tally = Tally()
    async for line in grade(gradable_lines(source, catalog), catalog, settings, tally):
        target.write(line)
        bar.update()
    return tally
