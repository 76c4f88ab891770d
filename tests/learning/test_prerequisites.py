"""Every need of a chapter is kept, whatever a course pack hides or moves."""

from app.course.content.catalog import Catalog, Topic
from app.course.learning import Prerequisites
from app.site.web.standing.next_steps import ROUTES


def chapter(name: str, *needs: str) -> Topic:
    return Topic(id=name, title=name, position=1, exercises=(), needs=needs)


def test_every_need_of_the_course_comes_earlier_and_is_a_chapter(catalog: Catalog) -> None:
    graph = Prerequisites(catalog.topics)
    assert {t.id: set(graph.direct[t.id]) for t in catalog.topics} == {t.id: set(t.needs) for t in catalog.topics}
    place = {t.id: n for n, t in enumerate(catalog.topics)}
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


def test_far_needs_are_kept() -> None:
    graph = Prerequisites((chapter("a"), chapter("b", "a"), chapter("c", "b"), chapter("d", "a")))
    assert graph.before["c"] == {"a", "b"}
    assert graph.after["a"] == {"b", "c", "d"}


def test_what_is_hidden_or_moved_breaks_no_need(catalog: Catalog) -> None:
    circle = (chapter("a", "b"), chapter("b", "a"), chapter("c", "hidden"))
    graph = Prerequisites(circle)
    assert graph.direct == {"a": (), "b": ("a",), "c": ()}
    backward = Prerequisites(tuple(reversed(catalog.topics)))
    assert not any(backward.before.values())
    assert Prerequisites(()).before == {}
