"""The first exercises of each part of the course know the slips of those who begin there."""

import re
from pathlib import Path

import yaml

from app.content.catalog import Catalog
from app.kinds.numeric import Numeric
from tests.each import each

SLIPS = yaml.safe_load((Path(__file__).parent / "slips.yaml").read_text(encoding="utf-8"))
CASES = [
    (name, part, typed)
    for name, parts in SLIPS.items()
    for part, slips in parts.items()
    for typed in slips.split("; ")
]


@each(("name", "part", "typed"), CASES)
def test_each_natural_slip_is_told_what_went_wrong(
    catalog: Catalog, name: str, part: str, typed: str
) -> None:
    exercise = catalog.exercise(name)
    assert isinstance(exercise, Numeric)
    key = exercise.keys(0)[part]
    verdict = key.judge(key.asked.read(typed))
    assert not verdict.correct
    assert not re.search(r"is too (small|large)\.", verdict.says), verdict.says
    assert len(verdict.says.split()) > 5
