"""The map: every need is kept, in columns, whatever a course pack hides or moves."""

from dataclasses import replace

from app.course.content.catalog import Catalog, Topic
from app.course.learning import Prerequisites
from app.site.web.standing.next_steps import ROUTES


def chapter(name: str, *needs: str) -> Topic:
    return Topic(id=name, title=name, position=1, exercises=(), needs=needs)


def names(graph: Prerequisites) -> list[list[str]]:
    return [sorted(topic.id for topic in column) for column in graph.columns]


def test_every_need_of_the_course_comes_earlier_and_is_a_chapter(catalog: Catalog) -> None:
    graph = Prerequisites(catalog.topics)
    assert {t.id: set(graph.direct[t.id]) for t in catalog.topics} == {t.id: set(t.needs) for t in catalog.topics}
    place = {t.id: n for n, column in enumerate(graph.columns) for t in column}
    assert len(place) == len(catalog.topics)
    assert all(place[need] < place[t.id] for t in catalog.topics for need in t.needs)


def test_no_need_says_what_follows_from_another(catalog: Catalog) -> None:
    graph = Prerequisites(catalog.topics)
    for topic in catalog.topics:
        implied = {name for need in topic.needs for name in graph.before[need]}
        assert not implied & set(topic.needs), topic.id


def test_a_route_has_all_that_its_chapters_need(catalog: Catalog) -> None:
    for route in ROUTES:
        on = {topic.id: topic for topic in catalog.topics if route in topic.routes}
        assert 5 < len(on) < len(catalog.topics)
        assert {need for topic in on.values() for need in topic.needs} <= set(on)


def test_placement_questions_are_hardly_guessed_and_have_new_numbers(catalog: Catalog) -> None:
    asked = [catalog.exercise(topic.placement) for topic in catalog.topics if topic.placement]
    assert len(asked) > 20
    assert {one.kind for one in asked} == {"numeric"}
    assert all(one.variation and one.level <= 3 for one in asked)


def test_columns_are_bounded_and_far_needs_are_kept() -> None:
    graph = Prerequisites((chapter("a"), chapter("b", "a"), chapter("c", "b"), chapter("d", "a")))
    assert graph.before["c"] == {"a", "b"}
    assert graph.after["a"] == {"b", "c", "d"}
    assert names(graph) == [["a"], ["b"], ["c"], ["d"]]  # one each, as there are three for three
    many = (chapter("a"), *(chapter(f"b{n}", "a") for n in range(9)))
    assert [len(column) for column in Prerequisites(many).columns] == [1, 3, 3, 3]


def test_what_is_hidden_or_moved_breaks_no_map(catalog: Catalog) -> None:
    circle = (chapter("a", "b"), chapter("b", "a"), chapter("c", "hidden"))
    graph = Prerequisites(circle)
    assert graph.direct == {"a": (), "b": ("a",), "c": ()}
    backward = Prerequisites(tuple(reversed(catalog.topics)))
    assert sum(map(len, backward.columns)) == len(catalog.topics)
    assert Prerequisites(()).columns == ()
    assert names(Prerequisites((replace(circle[2], id="alone"),))) == [["alone"]]
