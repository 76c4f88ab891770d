"""The first exercises of each part of the course know the slips of those who begin there."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from app.course.content.catalog import Catalog
from app.course.kinds import Exercise
from app.course.kinds.numeric import Numeric
from tests.each import each

SLIPS = yaml.safe_load((Path(__file__).parent / "slips.yaml").read_text(encoding="utf-8"))
CASES = [
    (name, part, typed) for name, parts in SLIPS.items() for part, slips in parts.items() for typed in slips.split("; ")
]
FIRST = 5  # exercises of a part, whose slips must be listed; those of others may be


def openings(catalog: Catalog) -> Iterator[Exercise]:
    """The first exercises of each part, on the paths of its chapters."""
    for part in catalog.outline.parts:
        path = [one for topic in catalog.topics if topic.part == part for one in topic.path]
        yield from path[:FIRST]


def test_the_slips_of_each_number_in_the_first_exercises_of_a_part_are_listed(catalog: Catalog) -> None:
    asked = {one.id: set(one.asked) for one in openings(catalog) if isinstance(one, Numeric)}
    others = map(catalog.exercise, SLIPS.keys() - asked.keys())
    asked |= {one.id: set(one.asked) for one in others if isinstance(one, Numeric)}
    assert {name: set(parts) for name, parts in SLIPS.items()} == asked
    assert all(len(slips.split("; ")) >= 6 for parts in SLIPS.values() for slips in parts.values())


@each(("name", "part", "typed"), CASES)
def test_each_natural_slip_is_told_what_went_wrong(catalog: Catalog, name: str, part: str, typed: str) -> None:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Numeric)
    key = exercise.keys(0)[part]
    verdict = key.judge(key.asked.read(typed))
    assert not verdict.correct
    assert not re.search(r"is too (small|large)\.", verdict.says), verdict.says
    assert len(verdict.says.split()) > 5
