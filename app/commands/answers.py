"""`wallclock answers`: right answers and known mistakes, as input for `wallclock grade`."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence

from app.commands.files import add_output, output
from app.core.errors import InputError
from app.course.content.course import read_course
from app.course.kinds import SEEDS, Answer, Exercise
from app.server.config import Settings

_BETWEEN = ".."


def add_options(parser: ArgumentParser) -> None:
    """The options of `wallclock answers`."""
    parser.add_argument("exercise", nargs="*", metavar="EXERCISE", help="IDs (default: all)")
    parser.add_argument("--seeds", default="0..19", metavar="A..B", help="inclusive (default: 0..19)")
    add_output(parser, "FILE")


def run(arguments: Namespace) -> int:
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
    first, between, last = text.partition(_BETWEEN)
    ends = (first, last) if between else (first, first)
    if not all(end.isascii() and end.isdigit() and len(end) < len(str(SEEDS)) + 1 for end in ends):
        raise InputError(f"--seeds: {text[:40]!r} is not a range; write it as 0..199")
    low, high = (int(end) for end in ends)
    if low > high:
        raise InputError(f"--seeds: {low} comes after {high}; did you mean {high}..{low}?")
    if high >= SEEDS:
        raise InputError(f"--seeds: the largest seed is {SEEDS - 1}, not {high}")
    return range(low, high + 1)
