import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from app.core.errors import ContentError, NotFoundError
from app.course.content.catalog import Catalog
from app.course.content.translations import topic_of
from app.course.kinds import Exercise

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


@pytest.fixture
def three(exercise_file: Write) -> Catalog:
    """A chapter of two exercises on its path, and one beside it."""
    folder = exercise_file(GOOD).parent
    for name, more in (("a-first", "core: true\nposition: 2\n"), ("b-next", "core: true\nposition: 1\n")):
        (folder / f"{name}.yaml").write_text(GOOD + more)
    return Catalog.read([folder.parent])


def ids(exercises: Iterable[Exercise]) -> list[str]:
    return [one.id.partition("/")[2] for one in exercises]


def test_the_path_is_what_is_core_by_its_position_and_then_comes_the_rest(three: Catalog) -> None:
    (topic,) = three.topics
    assert ids(topic.path) == ["b-next", "a-first"]
    assert ids(topic.extras) == ["exercise"]
    assert topic.minutes == topic.reading + sum(one.minutes for one in topic.path)
    bare = replace(topic, on_path=frozenset())
    assert ids(bare.path) == ["b-next", "a-first", "exercise"]
    assert bare.extras == ()


@pytest.mark.parametrize(("words", "minutes"), [(0, 1), (149, 1), (151, 2), (250, 2), (350, 4)])
def test_an_opening_is_read_at_a_hundred_words_a_minute(three: Catalog, words: int, minutes: int) -> None:
    assert replace(three.topics[0], opening="word " * words + "\n\n{figure 1}\n").reading == minutes


def test_an_exercise_is_replaced_or_added_or_has_a_chapter_of_its_own(three: Catalog) -> None:
    old = three.exercise("chapter/exercise")
    core = three.with_exercise(old.model_copy(update={"core": True}))
    assert ids(core.topics[0].exercises) == ["b-next", "a-first", "exercise"]
    assert ids(core.topics[0].path) == ["b-next", "a-first", "exercise"]
    first = three.exercise("chapter/a-first").model_copy(update={"core": False, "title": "Changed"})
    changed = three.with_exercise(first)
    assert ids(changed.topics[0].path) == ["b-next"]
    assert changed.exercise("chapter/a-first").title == "Changed"
    assert len(changed.exercises) == 3
    other = three.with_exercise(old.model_copy(update={"id": "my-week/one"}))
    assert [(topic.id, topic.title) for topic in other.topics][1:] == [("my-week", "My week")]
    assert set(other.by_id) == {*three.by_id, "my-week/one"}


def test_another_folder_of_the_same_name_adds_exercises_and_no_second_chapter(
    exercise_file: Write, tmp_path: Path
) -> None:
    first = exercise_file(GOOD).parent
    second = tmp_path / "second" / first.name
    second.mkdir(parents=True)
    (second / "more.yaml").write_text(GOOD)
    (tmp_path / "second" / "empty").mkdir()
    catalog = Catalog.read([first.parent, second.parent])
    assert [(topic.id, ids(topic.exercises)) for topic in catalog.topics] == [("chapter", ["exercise", "more"])]

    def said() -> list[str]:
        with pytest.raises(ContentError) as caught:
            Catalog.read([first.parent, second.parent])
        return [one.says for one in caught.value.problems]

    (second / "exercise.yaml").write_text(GOOD)
    assert said() == ["the exercise 'chapter/exercise' already exists"]
    (second / "exercise.yaml").unlink()
    (second / "topic.yaml").write_text((first / "topic.yaml").read_text())
    assert said() == ["the chapter 'chapter' already exists"]
    new = second.rename(second.with_name("new"))
    (new / "topic.yaml").unlink()
    assert said() == ["the chapter 'new' has no topic.yaml"]
    with pytest.raises(ContentError, match="is not a folder"):
        Catalog.read([tmp_path / "nowhere"])


def test_an_exercise_that_is_not_listed_is_of_its_hidden_chapter(three: Catalog) -> None:
    (topic,) = three.topics
    listed = replace(topic, exercises=topic.exercises[:1], title="Listed")
    catalog = replace(three, topics=(listed,), hidden=(replace(topic, title="Hidden"),))
    assert catalog.topic_of(topic.exercises[0]).title == "Listed"
    assert catalog.topic_of(topic.exercises[1]).title == "Hidden"
    assert catalog.topic("chapter").title == "Listed"
    assert ids(catalog.exercises) == ["b-next"]
