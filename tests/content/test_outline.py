"""The outline of the course: its parts, the paths of its chapters, and what is retired."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app.authoring.chapter_proofs import prove_course
from app.core.errors import ContentError
from app.course.content.catalog import Catalog, sections_of
from app.course.content.course import BUILT_IN
from app.course.content.outline import CourseFile, CoursePart, course_texts, read_course_file
from app.course.content.translations import texts_digest
from app.course.kinds.base import EmbeddedFigures

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
COURSE = """\
parts:
  first:
    title: The first
    says: What comes before all else.
    chapters:
      chapter: [b, other/c]
retired: {chapter/old: chapter/b}
"""
TOPIC = "title: Another chapter\nposition: 7\nsummary: A summary of it.\nopening: Read this.\n"


@pytest.fixture
def course(exercise_file: Write) -> Path:
    """A folder with a chapter of four exercises, one of which is retired, and a folder of two that is no chapter."""
    chapter = exercise_file(GOOD).parent
    for name in ("a", "b", "old"):
        (chapter / f"{name}.yaml").write_text(GOOD)
    other = chapter.parent / "other"
    other.mkdir()
    (other / "topic.yaml").write_text(f"{TOPIC}needs: [chapter]\n")
    for name in ("c", "d"):
        (other / f"{name}.yaml").write_text(GOOD)
    (chapter.parent / "course.yaml").write_text(COURSE)
    return chapter.parent


def _ids(catalog: Catalog) -> Sequence[tuple[str, Sequence[str]]]:
    return [
        (section.part.title if section.part else "", [topic.id for topic in section.topics])
        for section in sections_of(catalog)
    ]


def _problems(folder: Path) -> Sequence[str]:
    with pytest.raises(ContentError) as caught:
        Catalog.read([folder])
    return [problem.says for problem in caught.value.problems]


def test_the_course_has_five_parts_and_some_twenty_chapters_of_ten_to_twelve_hours(catalog: Catalog) -> None:
    sections = tuple(sections_of(catalog))
    assert len(sections) == 5
    assert all(section.part for section in sections)
    assert 18 <= len(catalog.topics) <= 23
    assert 120 <= sum(len(topic.path) for topic in catalog.topics) <= 150
    assert 600 <= sum(topic.minutes for topic in catalog.topics) <= 720
    listed = [topic for section in sections for topic in section.topics]
    assert listed == list(catalog.topics)
    assert [topic.position for topic in listed] == list(range(1, len(listed) + 1))


def test_the_outline_is_proven(catalog: Catalog) -> None:
    file, _ = read_course_file(BUILT_IN / "course.yaml")
    assert list(prove_course(file, catalog)) == []


def test_each_exercise_is_on_one_list_unless_it_is_retired(catalog: Catalog) -> None:
    listed = [one.id for one in catalog.exercises]
    assert len(listed) == len(set(listed))
    assert set(listed) | set(catalog.outline.retired) == set(catalog.by_id)
    assert not set(listed) & set(catalog.outline.retired)


def test_a_chapter_comes_after_what_it_needs(catalog: Catalog) -> None:
    place = {topic.id: number for number, topic in enumerate(catalog.topics)}
    for topic in catalog.topics:
        assert all(place[need] < place[topic.id] for need in topic.needs), topic.id


@pytest.mark.parametrize("code", ["de", "zh"])
def test_every_part_is_translated_and_keeps_its_chapters(catalog: Catalog, code: str) -> None:
    spoken = catalog.spoken(code)
    assert list(spoken.outline.parts) == list(catalog.outline.parts)
    for name, part in catalog.outline.parts.items():
        assert spoken.outline.parts[name].title != part.title
        assert spoken.outline.parts[name].says != part.says
    assert [[one.id for one in t.path] for t in spoken.topics] == [[one.id for one in t.path] for t in catalog.topics]


def test_a_path_is_in_the_order_of_the_outline_and_the_rest_is_practice(course: Path) -> None:
    catalog = Catalog.read([course])
    (topic,) = catalog.topics
    assert [one.id for one in topic.path] == ["chapter/b", "other/c"]
    assert [one.id for one in topic.extras] == ["chapter/a", "chapter/exercise", "other/d"]
    assert topic.folders == ("chapter", "other")
    assert topic.needs == ()


def test_a_folder_that_is_no_chapter_belongs_to_the_first_that_takes_from_it(course: Path) -> None:
    catalog = Catalog.read([course])
    (topic,) = catalog.topics
    assert catalog.topic("other") is topic
    assert catalog.topic_of(catalog.by_id["other/d"]) is topic
    assert topic.opening.endswith("\n\n## Another chapter\n\nRead this.")


def test_what_is_retired_is_on_no_list_and_still_an_exercise(course: Path) -> None:
    catalog = Catalog.read([course])
    assert "chapter/old" not in [one.id for one in catalog.exercises]
    assert catalog.exercise("chapter/old").id == "chapter/old"
    assert catalog.topic_of(catalog.by_id["chapter/old"]).id == "chapter"
    assert catalog.outline.retired == {"chapter/old": "chapter/b"}


def test_figures_and_questions_of_a_second_text_keep_their_places(course: Path) -> None:
    figures = "figures: [{explorer: ring}]\n"
    topic = course / "chapter" / "topic.yaml"
    topic.write_text(topic.read_text() + figures)
    (course / "other" / "topic.yaml").write_text(
        TOPIC.replace("Read this.", '"{figure 1}\\n\\nAnd {figure 1}."') + "figures: [{explorer: memory}]\n"
    )
    (joined,) = Catalog.read([course]).topics
    assert [one.explorer for one in joined.figures if isinstance(one, EmbeddedFigures)] == ["ring", "memory"]
    assert joined.opening.endswith("{figure 2}\n\nAnd {figure 1}.")  # only a line of its own is a place


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[b, other/c]", "[b, other/e]", "parts.first.chapters.chapter.1: no exercise is called 'other/e'"),
        ("[b, other/c]", "[b, b]", "parts.first.chapters.chapter.1: 'chapter/b' is on a path already"),
        ("[b, other/c]", "[b, old]", "parts.first.chapters.chapter.1: 'chapter/old' is retired"),
        ("chapter: [b", "chapters: [b", "parts.first.chapters.chapters: no chapter is called 'chapters'"),
        ("old: chapter/b", "old: chapter/x", "retired.chapter/old: no exercise is called 'chapter/x'"),
        ("old: chapter/b", "x: chapter/b", "retired.chapter/x: no exercise is called 'chapter/x'"),
        (
            "old: chapter/b",
            "old: chapter/a, chapter/a: chapter/b",
            "retired.chapter/old: leads to 'chapter/a', which is retired",
        ),
    ],
)
def test_a_name_that_is_none_or_is_named_twice_is_a_problem(course: Path, old: str, new: str, says: str) -> None:
    file = course / "course.yaml"
    file.write_text(file.read_text().replace(old, new))
    assert any(problem.startswith(says) for problem in _problems(course))


def test_an_exercise_before_what_it_builds_on_is_found(catalog: Catalog) -> None:
    file, _ = read_course_file(BUILT_IN / "course.yaml")
    first = replace(catalog.topic("pipelines"), position=0)
    topics = tuple(first if topic.id == first.id else topic for topic in catalog.topics)
    found = [one.says for one in prove_course(file, replace(catalog, topics=topics))]
    assert "pipelines/in-flight builds on the chapter 'memory', which comes later" in found


def test_an_exercise_before_the_chapter_that_teaches_its_formula_is_found(catalog: Catalog) -> None:
    """The path of the first chapter takes an exercise on checkpoints, whose folder needs nothing that comes later."""
    file, _ = read_course_file(BUILT_IN / "course.yaml")
    young = catalog.exercise("checkpoints/young-interval")
    first = replace(catalog.topics[0], exercises=(young.model_copy(update={"id": "collectives/young", "core": True}),))
    found = [one.says for one in prove_course(file, replace(catalog, topics=(first, *catalog.topics[1:])))]
    says = "collectives/young asks for faults.young_interval, a fact of the chapter 'checkpoints', which comes later"
    assert says in found


def test_a_chapter_before_one_that_it_needs_is_found(catalog: Catalog) -> None:
    """Its only exercise is from a folder that needs nothing itself."""
    file, _ = read_course_file(BUILT_IN / "course.yaml")
    topics = [replace(topic, needs=("rl",)) if topic.id == "hardware" else topic for topic in catalog.topics]
    found = [one.says for one in prove_course(file, replace(catalog, topics=tuple(topics)))]
    assert "kernels/bytes-in-flight builds on the chapter 'rl', which comes later" in found


FACT = "facts: [{name: Rank, says: nothing, formula: memory.state_bytes}]\n"
UNASKED = "its fact 'Rank' is memory.state_bytes, which no exercise on a path asks for"


def _proven(course: Path, exercise: str = GOOD, fact: str = FACT) -> list[str]:
    """What is found in a course whose chapter has a *fact*, with *exercise* on its path."""
    topic = course / "chapter" / "topic.yaml"
    topic.write_text(TOPIC + fact)
    (course / "chapter" / "b.yaml").write_text(exercise)
    file = CourseFile(
        minutes=(600, 720),
        parts={"a": CoursePart(title="The first", says="What comes before.", chapters={"chapter": ["b", "other/c"]})},
    )
    return [one.says for one in prove_course(file, Catalog.read([course]))]


def test_a_fact_that_nothing_asks_for_and_minutes_out_of_bounds_are_found(course: Path) -> None:
    fact, minutes = _proven(course)
    assert fact == UNASKED
    assert minutes == "reading and paths take 5 minutes, not 600 to 720"


@pytest.mark.parametrize(
    "more",
    [
        "mistakes: {memory.state_bytes(1) / 1 B: It is not this.}\n",
        "figure: {draws: bits, with: {exponent: memory.state_bytes(1) / 1 B, fraction: 1}}\n",
        "fixed: [memory.state_bytes]\ninsight: It is memory.state_bytes.\n",
    ],
)
def test_a_formula_of_what_is_wrong_or_told_is_not_asked(course: Path, more: str) -> None:
    assert UNASKED in _proven(course, GOOD + more)


def test_a_formula_whose_name_begins_with_that_of_a_fact_is_another(course: Path) -> None:
    fact = FACT.replace("memory.state_bytes", "optimizers.newton_schulz")
    asked = "answer: x * optimizers.newton_schulz_flops(2, 2, 1) / 1 FLOP"
    assert UNASKED.replace("memory.state_bytes", "optimizers.newton_schulz") in _proven(
        course, GOOD.replace("answer: 2 * x", asked), fact
    )
    asked = "answer: x * memory.state_bytes(1) / 1 B"
    assert UNASKED not in _proven(course, GOOD.replace("answer: 2 * x", asked))


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


def test_a_course_file_that_is_not_valid_is_a_problem(course: Path) -> None:
    (course / "course.yaml").write_text("parts:\n  first: {title: The first, chapters: {}}\n")
    assert _problems(course) == ["parts.first.says: is missing"]


def test_a_translation_of_parts_that_lags_is_not_shown(course: Path) -> None:
    lagging = 'of: "00000000"\nparts:\n  first: {title: Der erste, says: Was vorher kommt.}\n'
    (course / "course.de.yaml").write_text(lagging)
    assert Catalog.read([course]).spoken("de").outline.parts["first"].title == "The first"


def test_a_fresh_translation_of_parts_is_shown(course: Path) -> None:
    file, _ = read_course_file(course / "course.yaml")
    of = texts_digest(course_texts(file))
    ours = "parts:\n  first: {title: Der erste, says: Was vorher kommt.}\n"
    (course / "course.de.yaml").write_text(f'of: "{of}"\n{ours}')
    catalog = Catalog.read([course])
    assert catalog.spoken("de").outline.parts["first"].title == "Der erste"
    assert catalog.spoken("zh").outline.parts["first"].title == "The first"
    assert catalog.outline.parts["first"].title == "The first"
    assert catalog.part_title(catalog.topics[0]) == "The first"
    assert (catalog.outline.part_of("chapter"), catalog.outline.part_of("other")) == ("first", "")
    assert catalog.outline.homes() == {"chapter": "chapter", "other": "chapter"}
