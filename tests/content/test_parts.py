"""The parts of the course."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app.core.errors import ContentError
from app.course.content.catalog import Catalog, sections_of

Write = Callable[[str], Path]
GOOD = """\
kind: numeric
title: A title
level: 1
prompt: How much is {x} twice?
given: {x: [1, 2, 3]}
answer: 2 * x
hints: [One., Two.]
solution: Two times {x} is {answer}.
sources: [https://example.org/]
"""
PARTS = "parts:\n  first: {title: The first, says: What comes before all else.}\n"


def _ids(catalog: Catalog) -> Sequence[tuple[str, Sequence[str]]]:
    return [
        (section.part.title if section.part else "", [topic.id for topic in section.topics])
        for section in sections_of(catalog)
    ]


def test_all_chapters_stand_in_four_to_six_parts_in_their_order(catalog: Catalog) -> None:
    sections = tuple(sections_of(catalog))
    assert 4 <= len(sections) <= 6
    assert all(section.part for section in sections)
    listed = [topic for section in sections for topic in section.topics]
    assert listed == list(catalog.topics)
    assert [topic.position for topic in listed] == list(range(1, len(listed) + 1))


def test_a_chapter_comes_after_what_it_needs_also_by_parts(catalog: Catalog) -> None:
    place = {topic.id: number for number, topic in enumerate(catalog.topics)}
    for topic in catalog.topics:
        assert all(place[need] < place[topic.id] for need in topic.needs), topic.id


@pytest.mark.parametrize("code", ["de", "zh"])
def test_every_part_is_translated(catalog: Catalog, code: str) -> None:
    spoken = catalog.spoken(code).parts.english
    assert list(spoken) == list(catalog.parts.english)
    for name, part in catalog.parts.english.items():
        assert spoken[name].title != part.title
        assert spoken[name].says != part.says


def test_a_chapter_without_a_part_belongs_to_that_of_its_neighbors(catalog: Catalog) -> None:
    for one, other in pairwise(catalog.topics):
        new = replace(one, id="new", part="")
        place = catalog.topics.index(one) + 1
        topics = (*catalog.topics[:place], new, *catalog.topics[place:])
        sections = tuple(sections_of(replace(catalog, topics=topics)))
        ours = next(section for section in sections if new in section.topics)
        assert (ours.part is not None) == (one.part == other.part)
        assert (one in ours.topics) == (one.part == other.part)
    last = (*catalog.topics, replace(catalog.topics[-1], id="new", part=""))
    assert _ids(replace(catalog, topics=last))[-1] == ("", ["new"])


def test_parts_come_in_the_order_of_their_first_chapters(catalog: Catalog) -> None:
    turned = replace(catalog, topics=catalog.topics[::-1])
    assert [title for title, _ in _ids(turned)] == [title for title, _ in _ids(catalog)][::-1]


def test_a_part_that_does_not_exist_is_a_problem_with_its_line(exercise_file: Write) -> None:
    folder = exercise_file(GOOD).parent
    (folder.parent / "parts.yaml").write_text(PARTS)
    chapter = folder / "topic.yaml"
    chapter.write_text(f"part: thirst\n{chapter.read_text()}")
    with pytest.raises(ContentError) as caught:
        Catalog.read([folder.parent])
    (problem,) = caught.value.problems
    assert (problem.path, problem.line) == (chapter, 1)
    assert problem.says == "part: no part is called 'thirst'; did you mean 'first'?"
    chapter.write_text(chapter.read_text().replace("thirst", "first"))
    assert _ids(Catalog.read([folder.parent])) == [("The first", ["chapter"])]


def test_a_parts_file_that_is_not_valid_is_a_problem(exercise_file: Write) -> None:
    folder = exercise_file(GOOD).parent.parent
    (folder / "parts.yaml").write_text("parts:\n  first: {title: The first}\n")
    with pytest.raises(ContentError) as caught:
        Catalog.read([folder])
    assert [problem.says for problem in caught.value.problems] == ["parts.first.says: is missing"]


def test_a_translation_of_parts_that_lags_is_not_shown(exercise_file: Write) -> None:
    folder = exercise_file(GOOD).parent.parent
    (folder / "parts.yaml").write_text(PARTS)
    lagging = 'of: "00000000"\nparts:\n  first: {title: Der erste, says: Was vorher kommt.}\n'
    (folder / "parts.de.yaml").write_text(lagging)
    catalog = Catalog.read([folder])
    assert catalog.spoken("de").parts.spoken("de").english["first"].title == "The first"
