import os
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.errors import ContentError, NotFoundError
from app.course.content.catalog import Catalog
from app.course.content.translations import topic_of

GOOD = """\
kind: numeric
title: A title
level: 1
prompt: How much is {x} twice?
given: {x: [1, 2, 3]}
answer: 2 * x
mistakes:
  x: That is once.
  5 * x: That is five times.
hints: [One., Two.]
solution: Two times {x} is {answer}.
sources: [https://example.org/]
quantity: number
"""
Write = Callable[[str], Path]


def problems(file: Path) -> list[str]:
    with pytest.raises(ContentError) as caught:
        Catalog.read([file.parent.parent])
    return [f"{p.line}: {p.says}" for p in caught.value.problems]


def test_a_good_file_is_an_exercise_named_after_its_path(exercise_file: Write) -> None:
    catalog = Catalog.read([exercise_file(GOOD).parent.parent])
    assert [exercise.id for exercise in catalog.exercises] == ["chapter/exercise"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("kind: numeric", "kind: numerical", "1: kind: must be one of numeric, expression"),
        ("level: 1", "level: 9", "3: level:"),
        ("level: 1", "levle: 1", "3: levle: is not known here; did you mean 'level'?"),
        ("title: A title\n", "", "1: title: is missing"),
        ("hints: [One., Two.]", "hints: [One.]", "10: hints:"),
        ("level: 1", "level: 1\nlevel: 2", "4: duplicate key 'level'"),
        ("level: 1", "level: [1", "is not valid YAML"),
        ("answer: 2 * x", "answer: 2 * x\nunit: parsec", "7: unit:"),
        ("sources: [https://example.org/]", "sources: [nowhere]", "12: sources.0:"),
        ("title: A title", "title: A title\nid: x", "3: id: is set from the file itself"),
        (GOOD, "- a list", "1: must be a mapping"),
        (GOOD, "a: 2020-99-99", "1: kind: must be one of"),
    ],
)
def test_a_problem_is_reported_with_its_line(exercise_file: Write, old: str, new: str, says: str) -> None:
    assert any(says in problem for problem in problems(exercise_file(GOOD.replace(old, new))))


def test_all_problems_of_all_files_are_reported_at_once(exercise_file: Write) -> None:
    file = exercise_file(GOOD.replace("level: 1", "level: 9").replace("title: A title", "title: A"))
    (file.parent / "other.yaml").write_text("kind: choice\n")
    (file.parent / "topic.yaml").write_text("title: T\n")
    found = problems(file)
    assert len([p for p in found if p.startswith(("2:", "3:"))]) == 2
    assert any("options" in p for p in found)
    assert any("summary" in p for p in found)


def test_an_unknown_exercise_is_offered_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError, match="did you mean 'collectives/ring-all-reduce-time'"):
        catalog.exercise("collectives/ring-allreduce-time")
    with pytest.raises(NotFoundError, match="did you mean 'memory'"):
        catalog.topic("memry")


def test_the_path_of_a_chapter_comes_first_and_is_short(catalog: Catalog) -> None:
    for topic in catalog.topics:
        assert topic.path == topic.exercises[: len(topic.path)]
        assert 3 <= len(topic.path) <= 9
        assert topic.extras


def test_a_file_that_is_not_regular_is_a_problem_and_never_waited_for(exercise_file: Write, tmp_path: Path) -> None:
    folder = exercise_file(GOOD).parent
    os.mkfifo(folder / "a-pipe.yaml")
    (folder / "b-loop.yaml").symlink_to("b-loop.yaml")
    (folder / "c-folder.yaml").mkdir()
    (folder / "d-nowhere.yaml").symlink_to(tmp_path / "not-there")
    (folder.parent / "loop").symlink_to("loop")
    os.mkfifo(folder.parent / "pipe")
    said = problems(folder / "exercise.yaml")
    assert len(said) == 4
    assert sum("is not a regular file" in says for says in said) == 2
    assert sum("cannot be read" in says for says in said) == 2


def test_a_file_that_is_a_link_belongs_to_the_chapter_that_it_is_in(exercise_file: Write, tmp_path: Path) -> None:
    file = exercise_file(GOOD)
    kept = file.rename(tmp_path / "kept-elsewhere.yaml")
    file.symlink_to(kept)
    assert [e.id for e in Catalog.read([file.parent.parent]).exercises] == ["chapter/exercise"]
    assert topic_of(file) == "chapter"
