"""Shards of a graded file put together, and lines graded in this process."""

from pathlib import Path
from typing import Any

import pytest

from app.core.errors import InputError
from app.course.content.catalog import Catalog
from app.server.config import Settings
from app.site.grading.offline import VerdictTally
from app.site.grading.parallel import ByteSpan, FileShard, Seal, grade_on, merge_shards, seal_of, seal_shard
from tests.each import each

INPUT = "0" * 64


def shard(folder: Path, number: int, of: int, first: int = 1, lines: int = 2, **tally: Any) -> str:
    """The file of a shard with two rows."""
    span = ByteSpan(0, 0, first, lines, INPUT)
    rows = [f"row {number}a\n".encode(), f"row {number}b\n".encode()]
    path = folder / f"{number}-{of}-{first}"
    found = seal_shard([rows[:1], rows[1:]], FileShard(number, of), span, VerdictTally(**tally))
    path.write_bytes(b"".join(row for piece in found for row in piece))
    return str(path)


def test_shards_are_put_together_in_their_order_with_the_sum_of_their_counts(tmp_path: Path) -> None:
    names = [shard(tmp_path, 2, 2, 3, correct=3), shard(tmp_path, 1, 2, correct=1, disagreements=[2])]
    tally = VerdictTally()
    assert b"".join(merge_shards(names, tally)) == b"row 1a\nrow 1b\nrow 2a\nrow 2b\n"
    assert (tally.correct, tally.disagreements) == (4, [2])
    seal = seal_of(Path(names[0]))
    assert (seal.name, seal.rows, seal.first, seal.lines) == ("2/2", 2, 3, 2)


@each(
    ("of", "says"),
    [
        (2, "the shard 2/2 is missing"),
        (6, "the shard 2/6, 3/6, 4/6, 5/6, 6/6 is missing"),
        (7, "the shard 2/7, 3/7, 4/7, 5/7, 6/7 and 1 more is missing"),
    ],
)
def test_shards_that_are_missing_are_named_up_to_five(tmp_path: Path, of: int, says: str) -> None:
    with pytest.raises(InputError) as refused:
        list(merge_shards([shard(tmp_path, 1, of)], VerdictTally()))
    assert str(refused.value) == says


def test_shards_must_follow_each_other(tmp_path: Path) -> None:
    first = shard(tmp_path, 1, 2)
    with pytest.raises(InputError, match="begins at line 4 instead of 3"):
        list(merge_shards([first, shard(tmp_path, 2, 2, 4)], VerdictTally()))
    with pytest.raises(InputError, match="are both the shard 1/2"):
        list(merge_shards([first, first], VerdictTally()))
    with pytest.raises(InputError, match="are not shards of the same file and count"):
        list(merge_shards([first, shard(tmp_path, 2, 3, 3)], VerdictTally()))
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match="is not a complete shard"):
        seal_of(tmp_path / "empty")
    changed = Path(first)
    changed.write_bytes(changed.read_bytes().replace(b"1a", b"1x"))
    with pytest.raises(InputError, match="was changed after it was graded: grade 1/2 again"):
        list(merge_shards([first, shard(tmp_path, 2, 2, 3)], VerdictTally()))


@each(
    ("changes", "valid"),
    [
        ({}, True),
        ({"shard": 0}, False),
        ({"of": 0}, False),
        ({"first": 0}, False),
        ({"lines": -1}, False),
        ({"rows": 0}, True),
        ({"input": "x"}, False),
    ],
)
def test_a_seal_has_numbers_from_one_on(changes: dict[str, Any], valid: bool) -> None:
    values = {
        "shard": 1,
        "of": 1,
        "input": INPUT,
        "first": 1,
        "lines": 0,
        "rows": 0,
        "digest": INPUT,
        "tally": VerdictTally(),
    }
    if valid:
        assert Seal(**{**values, **changes}).name == "1/1"
        return
    with pytest.raises(ValueError, match="validation error"):
        Seal(**{**values, **changes})


def test_few_lines_are_graded_in_this_process_in_order(catalog: Catalog) -> None:
    tally = VerdictTally()
    lines = [(number, b'{"exercise": "no/ne", "answer": "1", "ref": %d}' % number) for number in range(1, 5)]
    rows = [row for piece in grade_on(4, lines, catalog, Settings(), tally) for row in piece]
    assert [row.count(b'"ref": %d' % number) for number, row in enumerate(rows, 1)] == [1] * 4
    assert tally.errors == 4
    assert list(grade_on(1, [], catalog, Settings(), VerdictTally())) == [[]]
