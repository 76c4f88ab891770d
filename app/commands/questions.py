"""`wallclock moodle` and `wallclock qti`: fixed drawings of exercises as a file for a question bank."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence

from app.authoring.moodle import MoodleWriter
from app.authoring.qti import QtiWriter
from app.authoring.question_bank import NotPortableError, bank_question
from app.commands.answers import seeds_of
from app.commands.files import add_output, output
from app.core.errors import InputError
from app.course.content.course import read_course
from app.course.kinds import Exercise
from app.server.config import Settings

_MOST = 5000  # questions; the other side reads the whole file into memory
_WRITERS: Mapping[str, type[MoodleWriter | QtiWriter]] = {"moodle": MoodleWriter, "qti": QtiWriter}


def add_options(parser: ArgumentParser) -> None:
    """The options of both commands."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--chapter", default="", metavar="NAME", help="the exercises of a chapter")
    parser.add_argument("--seeds", default="0..4", metavar="A..B", help="drawings of each, inclusive (default: 0..4)")
    add_output(parser, "FILE")


def run(arguments: Namespace) -> int:
    """Write the questions; 1 if the other system could judge none of them."""
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
    writer = _WRITERS[arguments.command](catalog, settings.url.rstrip("/"))
    left_out: dict[str, list[str]] = {}
    without: dict[str, int] = {}
    count = 0
    for exercise in exercises:
        count += _add_drawings(writer, catalog.topic_of(exercise).title, exercise, seeds, left_out, without)
    for reason, names in left_out.items():
        listed = f": {', '.join(names)}" if chosen else ""
        sys.stderr.write(f"left out {len(names)}, {reason}{listed}\n")
    if not count:
        raise InputError(f"none of these exercises can be judged by {writer.system}; nothing was written")
    with output(arguments.output) as target:
        target.write(writer.document())
    for what, number in without.items():
        sys.stderr.write(f"{number:,} without {what}\n")
    sys.stderr.write(f"{count:,} question{'s' if count > 1 else ''}\n")
    return 0


def _add_drawings(
    writer: MoodleWriter | QtiWriter,
    chapter: str,
    exercise: Exercise,
    seeds: Sequence[int],
    left_out: dict[str, list[str]],
    without: dict[str, int],
) -> int:
    """Add each drawing of *exercise*, or the reason why none can be; how many were added."""
    for done, seed in enumerate(seeds if exercise.variation else seeds[:1]):
        try:
            lost = writer.add(chapter, bank_question(exercise, seed))
        except NotPortableError as error:
            left_out.setdefault(str(error), []).append(exercise.id)
            return done
        for what in lost:
            without[what] = without.get(what, 0) + 1
    return done + 1
