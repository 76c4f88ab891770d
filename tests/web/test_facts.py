"""The facts of a chapter: beside each of its exercises, and without its answer."""

from app.authoring.texts import written_numbers
from app.core.expressions import Quantity
from app.core.formulas import FORMULAS
from app.course.content.catalog import Catalog
from app.course.kinds.numeric import Numeric
from app.site.web.exercise.page_context import facts_beside

SEEDS = (0, 1, 2)


def test_every_chapter_has_facts_and_most_of_its_exercises_show_some(catalog: Catalog) -> None:
    shown = [bool(list(facts_beside(one, topic, 0))) for topic in catalog.topics for one in topic.exercises]
    assert all(topic.facts for topic in catalog.topics)
    assert sum(shown) / len(shown) > 0.8


def test_no_fact_is_the_answer_of_the_exercise_beside_it(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        if not isinstance(exercise, Numeric):
            continue
        for seed in SEEDS:
            rights = [Quantity(key.right, key.asked.scale.unit.dimension) for key in exercise.keys(seed).values()]
            given = {written.value for written in written_numbers(exercise.variant(seed).prompt)}
            for fact in facts_beside(exercise, catalog.topic_of(exercise), seed):
                for written in written_numbers(fact.says):
                    told = written.has_unit and any(map(written.equals, rights))
                    assert not told or written.value in given, (exercise.id, fact.says)


def test_a_formula_that_an_exercise_builds_on_is_not_beside_it(catalog: Catalog) -> None:
    for exercise in catalog.exercises:
        for fact in facts_beside(exercise, catalog.topic_of(exercise), 0):
            name = fact.href.rpartition("/")[2]
            assert name not in FORMULAS or name not in exercise.dotted
    derived = catalog.exercise("collectives/derive-the-volume")
    says = [fact.says for fact in facts_beside(derived, catalog.topic_of(derived), 0)]
    assert says == ["450 GB/s in one direction", "GB is 1000³ bytes, GiB is 1024³"]
