"""`wallclock answers`, `moodle` and `qti`: drawings of exercises, to test grading or for a question bank."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from app.commands.files import Commands, add_output, output
from app.core.errors import InputError
from app.course.content.course import read_course
from app.course.kinds import SEEDS, Answer, Exercise
from app.server.config import Settings

if TYPE_CHECKING:
    from app.authoring.moodle import MoodleWriter
    from app.authoring.qti import QtiWriter

_MOST = 5000  # questions; the other side reads the whole file into memory


def add_answers_options(parser: ArgumentParser) -> None:
    """The options of `wallclock answers`."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--seeds", default="0..19", metavar="A..B", help="inclusive (default: 0..19)")
    add_output(parser, "FILE")


def run_answers(arguments: Namespace) -> int:
    """Write the answers to each drawing, one per line."""
    catalog = read_course(Settings())
    seeds = seeds_of(arguments.seeds)
    exercises = [catalog.exercise(name) for name in dict.fromkeys(arguments.exercise)]
    count = 0
    with output(arguments.output) as target:
        for line in lines(exercises or catalog.exercises, seeds):
            target.write(line)
            count += 1
    sys.stderr.write(f"{count:,} answers\n")
    return 0


def lines(exercises: Sequence[Exercise], seeds: range) -> Iterator[bytes]:
    """One line of JSON per right answer and known mistake of every drawing."""
    for exercise in exercises:
        for seed in seeds:
            yield _answers_line(exercise, seed, exercise.right_answer(seed), "correct", "")
            for answer, says in exercise.mistakes(seed):
                yield _answers_line(exercise, seed, answer, "incorrect", says)


def _answers_line(exercise: Exercise, seed: int, answer: Answer, expect: str, says: str) -> bytes:
    row = {"exercise": exercise.id, "seed": seed, "answer": answer, "expect": expect, "says": says}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def seeds_of(text: str) -> range:
    """The seeds that *text* names, such as 0..199.

    Raises:
        InputError: it is not a range of seeds.
    """
    first, between, last = text.partition("..")
    ends = (first, last) if between else (first, first)
    if not all(end.isascii() and end.isdigit() and len(end) < len(str(SEEDS)) + 1 for end in ends):
        raise InputError(f"--seeds: {text[:40]!r} is not a range; write it as 0..199")
    low, high = (int(end) for end in ends)
    if low > high:
        raise InputError(f"--seeds: {low} comes after {high}; did you mean {high}..{low}?")
    if high >= SEEDS:
        raise InputError(f"--seeds: the largest seed is {SEEDS - 1}, not {high}")
    return range(low, high + 1)


def add_questions_options(parser: ArgumentParser) -> None:
    """The options of both commands."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--chapter", default="", metavar="NAME", help="the exercises of a chapter")
    parser.add_argument("--seeds", default="0..4", metavar="A..B", help="drawings of each, inclusive (default: 0..4)")
    add_output(parser, "FILE")


def run_questions(arguments: Namespace) -> int:
    """Write the questions; 1 if the other system could judge none of them."""
    from app.authoring.moodle import MoodleWriter  # answers need no pages
    from app.authoring.qti import QtiWriter

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
    writers: Mapping[str, type[MoodleWriter | QtiWriter]] = {"moodle": MoodleWriter, "qti": QtiWriter}
    writer = writers[arguments.command](catalog, settings.url.rstrip("/"))
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
    writer: "MoodleWriter | QtiWriter",
    chapter: str,
    exercise: Exercise,
    seeds: Sequence[int],
    left_out: dict[str, list[str]],
    without: dict[str, int],
) -> int:
    """Add each drawing of *exercise*, or the reason why none can be; how many were added."""
    from app.authoring.question_bank import NotPortableError, bank_question

    for done, seed in enumerate(seeds if exercise.variation else seeds[:1]):
        try:
            lost = writer.add(chapter, bank_question(exercise, seed))
        except NotPortableError as error:
            left_out.setdefault(str(error), []).append(exercise.id)
            return done
        for what in lost:
            without[what] = without.get(what, 0) + 1
    return done + 1


_QUESTIONS = (add_questions_options, run_questions)
COMMANDS: Commands = {"answers": (add_answers_options, run_answers), "moodle": _QUESTIONS, "qti": _QUESTIONS}
