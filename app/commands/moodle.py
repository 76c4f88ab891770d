"""`wallclock moodle`: fixed drawings of exercises as a file for the question bank of a Moodle."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from app.authoring.moodle import BEGINNING, END, MoodleWriter, NotInMoodleError
from app.commands.answers import seeds_of
from app.commands.files import add_output, output
from app.core.errors import InputError
from app.course.content.course import read_course
from app.course.kinds import Exercise
from app.server.config import Settings

_MOST = 5000  # questions; Moodle reads the whole file into memory


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock moodle`."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--chapter", default="", metavar="NAME", help="the exercises of a chapter")
    parser.add_argument("--seeds", default="0..4", metavar="A..B", help="drawings of each, inclusive (default: 0..4)")
    add_output(parser, "FILE.xml")


def run(arguments: Namespace) -> int:
    """Write the questions; 1 if Moodle could judge none of them."""
    settings = Settings()
    catalog = read_course(settings)
    seeds = seeds_of(arguments.seeds)
    chosen = [catalog.exercise(name) for name in dict.fromkeys(arguments.exercise)]
    offered = catalog.topic(arguments.chapter).exercises if arguments.chapter else catalog.exercises
    exercises = chosen or offered
    if len(exercises) * len(seeds) > _MOST:
        raise InputError(
            f"{len(exercises)} exercises of {len(seeds)} seeds are more than {_MOST:,} questions; "
            "choose a chapter, exercises or fewer seeds"
        )
    writer = MoodleWriter(catalog, settings.url.rstrip("/"))
    left_out: dict[str, list[str]] = {}
    questions = list(_questions(writer, exercises, seeds, left_out))
    for reason, names in left_out.items():
        listed = f": {', '.join(names)}" if chosen else ""
        sys.stderr.write(f"left out {len(names)}, {reason}{listed}\n")
    count = sum('type="category"' not in one for one in questions)
    if not count:
        raise InputError("none of these exercises can be judged by Moodle; nothing was written")
    with output(arguments.output) as target:
        for text in (BEGINNING, *questions, END):
            target.write(text.encode())
    sys.stderr.write(f"{count:,} question{'s' if count > 1 else ''}\n")
    return 0


def _questions(
    writer: MoodleWriter, exercises: Sequence[Exercise], seeds: range, left_out: dict[str, list[str]]
) -> Iterator[str]:
    """Each drawing, after the category of its chapter; reasons and exercises that are left out."""
    category = ""
    for exercise in exercises:
        for seed in seeds if exercise.variation else seeds[:1]:
            try:
                question = writer.question(exercise, seed)
            except NotInMoodleError as error:
                left_out.setdefault(str(error), []).append(exercise.id)
                break
            if category != (category := writer.category(exercise)):
                yield category
            yield question
