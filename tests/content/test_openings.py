"""What a chapter's opening works through is not asked below it."""

from collections.abc import Iterator, Mapping

from app.authoring.texts import WrittenNumber, written_numbers
from app.core.expressions import Quantity
from app.core.folders import ROOT
from app.course.content.catalog import Catalog, Topic
from app.course.kinds.numeric import Numeric
from tests.each import each

CATALOG = Catalog.read([ROOT / "exercises"])
BY_CHANCE = {"capstone": "128"}  # heads; the answer is a number of replicas
TOPICS = {topic.id: topic for topic in CATALOG.topics}


def stated(topic: Topic) -> list[WrittenNumber]:
    by_chance = BY_CHANCE.get(topic.id)
    asked = (text for one in topic.questions for text in (one.prompt, one.says))
    text = " ".join([topic.opening, *asked])
    return [one for one in written_numbers(text) if one.number != by_chance]


def answers(exercise: Numeric) -> list[Quantity]:
    """The right values of variant 0."""
    return [Quantity(key.right, key.asked.scale.unit.dimension) for key in exercise.keys(0).values()]


def telling(numbers: list[WrittenNumber]) -> list[WrittenNumber]:
    """Those of *numbers* that are not there by chance."""
    return [one for one in numbers if one.has_unit or one.is_distinctive]


def is_stated(value: Quantity, numbers: list[WrittenNumber]) -> bool:
    return any(written.equals(value) for written in numbers)


def worked_through(exercises: Mapping[str, Numeric], numbers: list[WrittenNumber]) -> Iterator[str]:
    """The exercises whose variant 0 has all of its values, and its answers, among *numbers*."""
    for name, exercise in exercises.items():
        drawn = exercise.draw(0)
        given = [drawn.names[one] for one in drawn.shown if one in drawn.names]
        if all(is_stated(value, numbers) for value in given) and all(
            is_stated(value, telling(numbers)) for value in answers(exercise)
        ):
            yield name


def numeric(topic: Topic) -> dict[str, Numeric]:
    return {one.id: one for one in topic.exercises if isinstance(one, Numeric)}


@each("name", TOPICS)
def test_no_exercise_is_the_example_of_the_opening(name: str) -> None:
    topic = TOPICS[name]
    assert [*worked_through(numeric(topic), stated(topic))] == []


@each("name", TOPICS)
def test_the_first_answer_is_not_in_the_opening(name: str) -> None:
    first = TOPICS[name].path[0]
    if isinstance(first, Numeric):
        numbers = telling(stated(TOPICS[name]))
        assert [value for value in answers(first) if is_stated(value, numbers)] == []


def test_an_example_with_the_same_numbers_is_found() -> None:
    ring = {"ring": CATALOG.exercise("collectives/bytes-sent-by-a-ring")}
    same = [*written_numbers("Eight GPUs sum 1 GB: each sends 1.75 GB.")]
    other = [*written_numbers("Eight GPUs sum 2 GB: each sends 3.5 GB.")]
    found = {name: one for name, one in ring.items() if isinstance(one, Numeric)}
    assert [*worked_through(found, same)] == ["ring"]
    assert [*worked_through(found, other)] == []
